"""Reading by id and by path: whole chunks, pages that follow on, and which names are understood."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.reading.paging import Place, read_page
from local_rag.text.sanitize import safe_text
from local_rag.text.trim import answer_cost, fit_prefix, shorten
from local_rag.tools.search_corpus import SearchHit, _cut_hit
from tests.calling import Call, calls, follow, whole
from tests.conftest import Corpus, Run


@pytest.fixture
def call(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    with calls() as call:
        yield call


def ids_of(call: Call, query: str, **arguments: Any) -> list[str]:
    hits = call("search_corpus", query=query, limit=20, **arguments)["hits"]
    return [hit["id"] for hit in sorted(hits, key=lambda hit: (hit["path"], hit["start_line"]))]


def sections(count: int) -> str:
    """A document whose sections are a chunk each."""
    words = "some words of filling that say nothing at all about anything\n" * 20
    return "".join(f"# Part {n}\n\nunique{n}x marker\n{words}\n" for n in range(count))


def test_a_fetched_chunk_comes_with_its_neighbours_as_one_stretch(
    call: Call, corpus: Corpus, run: Run
) -> None:
    text = sections(8)
    corpus.write("a.md", text)
    run()
    (id_,) = ids_of(call, "unique3x")[:1]
    answer = call("fetch", ids=[id_], before=1, after=1)
    ((stretch,),) = [document["stretches"] for document in answer["documents"]]
    lines = text.split("\n")[stretch["start_line"] - 1 : stretch["end_line"]]
    assert stretch["text"].rstrip("\n") == "\n".join(lines).rstrip("\n")
    assert "unique2x" in stretch["text"]
    assert "unique4x" in stretch["text"]
    assert "unique5x" not in stretch["text"]
    assert stretch["ids"] == [id_]


@pytest.mark.parametrize("room", range(80, 400, 7))
def test_a_cut_hit_cites_the_lines_that_it_shows_and_no_blank_one_after(room: int) -> None:
    text = "A line.\n\n\n" * 20 + "The end."
    hit = SearchHit.model_construct(start_line=5, end_line=65, text=text)
    _cut_hit(hit, text, room)
    assert hit.text
    assert hit.text == hit.text.rstrip()
    assert text.startswith(hit.text)
    assert hit.end_line == 5 + hit.text.count("\n")


def test_neighbours_that_overlap_are_shown_once(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", sections(8))
    corpus.write("b.md", "unique1x elsewhere\n")
    run()
    ids = [*ids_of(call, "unique2x", path="a.md"), *ids_of(call, "unique3x", path="a.md")]
    answer = call("fetch", ids=[*ids, *ids_of(call, "elsewhere", path="b.md")], before=1, after=1)
    assert [document["path"] for document in answer["documents"]] == ["a.md", "b.md"]
    (stretch,) = answer["documents"][0]["stretches"]
    assert stretch["text"].count("unique3x") == 1


def test_an_id_that_is_no_more_is_an_answer(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "alpha one\n")
    corpus.write("b.md", "beta two\n")
    run()
    old, kept = ids_of(call, "alpha") + ids_of(call, "beta")
    corpus.write("a.md", "alpha changed\n")
    run()
    answer = call("fetch", ids=[old, kept])
    assert answer["missing"] == [old]
    assert [document["path"] for document in answer["documents"]] == ["b.md"]
    assert answer["notices"] == [
        f"No chunk has the id {old}: its document has changed; search again."
    ]


def test_an_id_that_never_was_is_an_answer_that_says_what_ids_are(
    call: Call, corpus: Corpus, run: Run
) -> None:
    corpus.write("a.md", "alpha one\n")
    run()
    answer = call("fetch", ids=["a.md", *ids_of(call, "alpha"), "0123456789abcdef", "x" * 900])
    assert answer["missing"] == ["a.md", "0123456789abcdef", "x" * 37 + "…"]
    assert [document["path"] for document in answer["documents"]] == ["a.md"]
    assert answer["notices"] == [
        "No chunk has the id 0123456789abcdef: its document has changed; search again.",
        f"'a.md', '{'x' * 37}…' is not a hit id (16 hex digits, from search_corpus). "
        "To read a document by path use get_file.",
    ]


def test_what_is_fetched_and_does_not_fit_is_read_on_with_the_call_given(
    call: Call, corpus: Corpus, run: Run
) -> None:
    text = sections(30)
    corpus.write("a.md", text)
    run()
    ids = ids_of(call, "unique9x")
    answer = call("fetch", ids=ids[:1], before=5, after=5)
    (stretch,) = answer["documents"][0]["stretches"]
    assert "unique9x" in stretch["text"]
    rest, page = "", follow(call, stretch["next_call"])
    rest += page["text"]
    while page.get("next_call"):
        page = follow(call, page["next_call"])
        rest += page["text"]
    assert stretch["text"] + rest in text
    assert rest


def test_too_many_ids_and_neighbours_are_clamped_and_said(
    call: Call, corpus: Corpus, run: Run
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    answer = call("fetch", ids=[*ids_of(call, "alpha"), *map(str, range(20))], before=-1, after=99)
    assert answer["notices"][:3] == [
        "before -1 is out of range; used 0.",
        "after 99 is out of range; used 5.",
        "Too many ids (21): fetched the first 10.",
    ]
    assert call("fetch", ids=[])["error"].startswith("Argument 'ids' is empty.")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"line {n} {'word ' * (n % 40)}\n" for n in range(900)),
        "x" * 65_000,
        "short\n" + "Ы" * 30_000 + "\nend",
        "🦀" * 9_000 + "\n\n\n" + "é\n" * 5_000,
        '"\\' * 20_000,
        "\n" * 9_000 + "end\n",
        "",
    ],
    ids=["lines", "one line", "cyrillic", "emoji", "escapes", "empty lines", "empty"],
)
def test_the_pages_of_a_file_are_the_file_byte_for_byte(
    call: Call, corpus: Corpus, run: Run, text: str
) -> None:
    corpus.write("other.md", "alpha")
    corpus.write("a.md", text)
    run()
    if text:
        assert whole(call, "a.md") == text


def test_only_characters_that_steer_are_missing_from_pages(
    call: Call, corpus: Corpus, run: Run
) -> None:
    text = "a\r\nb\x1b[2J\u202ec\n" * 2_000
    corpus.write("a.md", text)
    run()
    assert whole(call, "a.md") == safe_text(text) == "a\nb[2Jc\n" * 2_000


@given(st.text(max_size=300), st.integers(20, 90))
def test_pages_of_any_text_follow_on(text: str, room: int) -> None:
    place, got = Place(1), ""
    while place:
        page = read_page(text, place, None, room)
        got, place = got + page.text, page.rest
    assert got == text


@given(st.text(max_size=200), st.integers(4, 400))
def test_a_prefix_is_the_longest_that_fits(text: str, room: int) -> None:
    kept = fit_prefix(text, room)
    assert text.startswith(kept)
    assert answer_cost(kept) <= room
    assert kept == text or answer_cost(text[: len(kept) + 1]) > room
    assert answer_cost(shorten(text, room)) <= room


@pytest.mark.parametrize(
    "name",
    [
        "notes/deep/plan.md",
        "notes:notes/deep/plan.md",
        "plan.md",
        "deep/plan.md",
        "./notes/deep/plan.md",
        "notes\\deep\\plan.md",
        ".\\deep\\plan.md",
        "notes:plan.md",
        "notes//deep/./plan.md",
        "ROOT/notes/deep/plan.md",
    ],
)
def test_a_file_goes_by_path_root_and_path_file_name_or_suffix(
    call: Call, corpus: Corpus, run: Run, name: str
) -> None:
    corpus.write("notes/deep/plan.md", "alpha\n")
    corpus.write("notes/deep/myplan.md", "beta\n")
    run()
    path = name.replace("ROOT", str(corpus.path))
    assert call("get_file", path=path)["text"] == "alpha\n"


def test_a_folder_is_said_to_be_one(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("deep/plan.md", "alpha\n")
    run()
    for name in ("deep", "deep/", "./deep/", f"{corpus.path}/deep"):
        error = call("get_file", path=name)["error"]
        assert error == (
            f"No indexed document has the path '{name}'. It is a folder: list_files(glob='{name}')."
        )
        assert call("list_files", glob=name)["total"] == 1


def test_a_file_goes_by_an_alias_that_no_path_has(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "---\naliases: [Way Out, b.md, Ausgang]\n---\nalpha\n")
    corpus.write("b.md", "---\naliases: ausgang\n---\nbeta\n")
    run()
    for name in ("Way Out", "way out", "notes:Way Out"):
        assert call("get_file", path=name)["path"] == "a.md"
    assert call("get_file", path="b.md")["path"] == "b.md"
    error = call("get_file", path="Ausgang")["error"]
    assert error == "'Ausgang' is ambiguous. Say which: notes:a.md, notes:b.md."


def test_a_search_for_an_alias_finds_its_document_first(
    call: Call, corpus: Corpus, run: Run
) -> None:
    corpus.write("a.md", "---\naliases: [Zephyr Plan]\n---\n" + "alpha beta\n" * 50)
    corpus.write("b.md", "A plan to plan planning.\n")
    run()
    assert call("search_corpus", query="Zephyr Plan", mode="keyword")["hits"][0]["path"] == "a.md"


def test_an_ambiguous_name_lists_the_candidates(call: Call, corpus: Corpus, run: Run) -> None:
    for n in range(12):
        corpus.write(f"{n:02}/README.md", "alpha\n")
    run()
    error = call("get_file", path="README.md")["error"]
    assert error.startswith("'README.md' is ambiguous. Say which: notes:00/README.md, notes:01/")
    assert error.endswith("notes:07/README.md and 4 more.")


@pytest.mark.parametrize(
    "name", ["Plan.MD", "paln.md", "DEEP\\plan.md", "deep/plam.md", "./plan.MD"]
)
def test_a_near_miss_suggests_the_nearest(call: Call, corpus: Corpus, run: Run, name: str) -> None:
    corpus.write("deep/plan.md", "alpha\n")
    run()
    assert "Did you mean notes:deep/plan.md?" in call("get_file", path=name)["error"]


def test_a_name_in_either_unicode_form_is_found(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write(unicodedata.normalize("NFC", "кофе/план й.md"), "alpha\n")
    run()
    assert call("get_file", path=unicodedata.normalize("NFD", "план й.md"))["text"] == "alpha\n"


def test_twins_in_both_unicode_forms_are_told_apart(call: Call, corpus: Corpus, run: Run) -> None:
    forms: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
    for form in forms:
        corpus.write(unicodedata.normalize(form, "café.md"), f"{form}\n")
    if len(list(corpus.path.iterdir())) < 2:
        pytest.skip("this file system takes them for one")
    run()
    for form in forms:
        name = unicodedata.normalize(form, "café.md")
        assert call("get_file", path=f"notes:{name}")["text"] == f"{form}\n"


def test_a_line_or_column_that_is_not_there_is_said(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "alpha\nbeta\n")
    run()
    assert "has 2 lines, not 3" in call("get_file", path="a.md", start_line=3)["error"]
    assert "Swap them" in call("get_file", path="a.md", start_line=2, end_line=1)["error"]
    assert "not 99" in call("get_file", path="a.md", start_column=99)["error"]
    for huge in (10**15, 10**30):
        error = call("get_file", path="a.md", start_line=huge)["error"]
        assert error == "The document has 2 lines, not so many. Ask for less."
        error = call("get_file", path="a.md", start_column=huge)["error"]
        assert error == "Line 1 has 6 characters, not so many. Ask for less."
        error = call("get_file", path="a.md", end_line=-huge)["error"]
        assert error == "end_line so low is before start_line 1. Swap them."
        page = call("get_file", path="a.md", start_line=-huge)
        assert page["notices"] == ["start_line that large is out of range; used 1."]
    page = call("get_file", path="a.md", start_line=-5, start_column=0)
    assert page["notices"] == [
        "start_line -5 is out of range; used 1.",
        "start_column 0 is out of range; used 1.",
    ]


def test_hits_of_files_that_changed_since_are_stale(call: Call, corpus: Corpus, run: Run) -> None:
    for name in ("same", "touched", "edited", "gone", "link"):
        corpus.write(f"{name}.md", "alpha\n")
    run()
    (corpus.path / "touched.md").touch()
    corpus.write("edited.md", "alpha beta\n")
    (corpus.path / "gone.md").unlink()
    (corpus.path / "link.md").unlink()
    (corpus.path / "link.md").symlink_to(corpus.path / "same.md")
    hits = call("search_corpus", query="alpha")["hits"]
    stale = {hit["path"] for hit in hits if hit.get("stale")}
    assert stale == {"edited.md", "gone.md", "link.md"}
    fetched = call("fetch", ids=[hit["id"] for hit in hits])["documents"]
    assert {document["path"] for document in fetched if document.get("stale")} == stale
    assert all(d["stretches"][0]["text"].strip() == "alpha" for d in fetched)
