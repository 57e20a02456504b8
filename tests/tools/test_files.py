"""Which documents there are, what is in them, and which lines match."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.calling import Call, calls, follow
from tests.conftest import Corpus, Run
from tests.documents.formats.test_pdf import pdf_file


@pytest.fixture
def call(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    with calls() as call:
        yield call


def paths(answer: dict[str, Any]) -> list[str]:
    return [file["path"] for file in answer["files"]]


def test_files_are_listed_with_what_one_wants_to_know(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a/new.md", "---\ntitle: New\ntags: [ops]\ndate: 2026-05-31\n---\nalpha\n")
    corpus.write("old.md", "---\nlifecycle: superseded\nsuperseded_by: a/new.md\n---\nbeta\n")
    run()
    answer = call("list_files")
    assert answer["total"] == 2
    assert answer["files"][0] == {
        "root": "notes",
        "path": "a/new.md",
        "title": "New",
        "size": 54,
        "modified": "2026-05-31T00:00:00Z",
        "lifecycle": "active",
        "chunks": 1,
    }
    assert answer["files"][1]["superseded_by"] == "a/new.md"
    assert paths(call("list_files", tag="#OPS")) == ["a/new.md"]
    assert paths(call("list_files", glob="a/*")) == ["a/new.md"]
    assert paths(call("list_files", lifecycle="superseded")) == ["old.md"]
    assert paths(call("list_files", changed_since="2026-06-01")) == ["old.md"]
    assert paths(call("list_files", sort="size")) == ["old.md", "a/new.md"]
    nothing = call("list_files", root="elsewhere")
    assert nothing["notices"] == ["No indexed document matches these filters."]


@pytest.mark.parametrize("sort", ["path", "modified", "size", "title"])
def test_pages_of_a_list_hold_every_file_once(
    call: Call, corpus: Corpus, run: Run, sort: str
) -> None:
    for n in range(150):
        corpus.write(f"{n:03}.md", f"# Note {n}\n")
    run()
    page = call("list_files", sort=sort, limit=40)
    seen = paths(page)
    while cursor := page.get("next_cursor"):
        page = call("list_files", sort=sort, limit=40, cursor=cursor)
        seen += paths(page)
    assert len(seen) == len(set(seen)) == 150
    assert call("list_files", cursor="elsewhere")["error"].startswith("The cursor does not belong")


def test_an_outline_has_headings_with_the_lines_under_them(
    call: Call, corpus: Corpus, run: Run
) -> None:
    corpus.write("a.md", "---\ntags: [x]\n---\n# A\n\none\n\n## B\n\ntwo\n\n# C\nthree\n")
    run()
    entries = call("outline", path="a.md")["entries"]
    assert [(e["level"], e["heading"], e["start_line"], e["end_line"]) for e in entries] == [
        (1, "A", 4, 11),
        (2, "B", 8, 11),
        (1, "C", 12, 13),
    ]
    corpus.write("b.md", "no heading at all\n")
    run()
    assert call("outline", path="b.md")["notices"] == [
        "This document has no headings or pages; read it with get_file."
    ]


def test_an_outline_of_a_pdf_names_its_pages(call: Call, corpus: Corpus, run: Run) -> None:
    lines = "\n".join(f"line {n} of a page that is cut into several chunks" for n in range(90))
    corpus.write("a.pdf", pdf_file("First page\nwith two lines", "", lines, "The last one"))
    run()
    answer = call("outline", path="a.pdf")
    assert answer["entries"] == [
        {"level": 1, "heading": "page 1", "start_line": 1, "end_line": 2},
        {"level": 1, "heading": "page 3", "start_line": 4, "end_line": 93},
        {"level": 1, "heading": "page 4", "start_line": 95, "end_line": 95},
    ]
    assert answer["chunks"] > 3
    for entry, begins in zip(answer["entries"], ("First", "line 0", "The last"), strict=True):
        lines = {"start_line": entry["start_line"], "end_line": entry["end_line"]}
        assert call("get_file", path="a.pdf", **lines)["text"].startswith(begins)


def test_an_outline_follows_the_document_and_is_made_by_ingest(
    call: Call, corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "# One\n\nalpha\n\n## Two\n\nbeta\n")
    run()
    # Parsing is for ingest: a file of 5 MB can take half a minute.
    with monkeypatch.context() as without_parser:
        without_parser.setattr("local_rag.documents.markup.blocks", None)
        headings = [entry["heading"] for entry in call("outline", path="a.md")["entries"]]
    assert headings == ["One", "Two"]
    corpus.write("a.md", "# Three\n\nalpha\n")
    run()
    headings = [entry["heading"] for entry in call("outline", path="a.md")["entries"]]
    assert headings == ["Three"]
    (corpus.path / "a.md").rename(corpus.path / "b.md")
    run()
    (entry,) = call("outline", path="b.md")["entries"]
    assert entry == {"level": 1, "heading": "Three", "start_line": 1, "end_line": 3}
    assert call("outline", path="b.md", start_line=2)["notices"] == [
        "No heading starts at or after that line."
    ]


def test_a_long_outline_comes_in_pages(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "".join(f"# Heading {n}\n\ntext\n\n" for n in range(1_000)))
    run()
    page = call("outline", path="a.md")
    headings = [entry["heading"] for entry in page["entries"]]
    while spelled := page.get("next_call"):
        page = follow(call, spelled)
        headings += [entry["heading"] for entry in page["entries"]]
    assert headings == [f"Heading {n}" for n in range(1_000)]


def test_lines_are_found_as_they_are_written(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "alpha E-1042 beta\nnothing\nE-1042 and e-1042\nlast\n")
    corpus.write("sub/b.md", "Ключ E.1042\n")
    run()
    answer = call("grep_corpus", pattern="e-1042")
    assert (answer["total"], answer["total_files"]) == (2, 1)
    lines = [(m["line"], m["text"]) for m in answer["files"][0]["matches"]]
    assert lines == [(1, "alpha E-1042 beta"), (3, "E-1042 and e-1042")]
    assert call("grep_corpus", pattern="e-1042", case_sensitive=True)["total"] == 1
    assert call("grep_corpus", pattern="ключ")["files"][0]["path"] == "sub/b.md"
    assert call("grep_corpus", pattern="E.1042", regex=True)["total"] == 3
    assert call("grep_corpus", pattern="E.1042", regex=True, glob="sub/*")["total"] == 1
    context = call("grep_corpus", pattern="nothing", context=1)["files"][0]["matches"][0]
    assert (context["start_line"], context["line"]) == (1, 2)
    assert context["text"] == "alpha E-1042 beta\nnothing\nE-1042 and e-1042"


def test_an_expression_never_matches_across_lines(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "ab\ncd\nab cd\n" + "filling\n" * 30_000 + "ab cd end\n")
    run()
    answer = call("grep_corpus", pattern="^ab[^x]*cd", regex=True)
    assert [m["line"] for m in answer["files"][0]["matches"]] == [3, 30_004]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [(r"\bключ", True), (r"\w+й", True), (r"\bcd", False), (r"\bnone", True), ("ключ", False)],
)
def test_an_expression_that_knows_ascii_alone_says_so_where_it_may_miss(
    call: Call, corpus: Corpus, run: Run, pattern: str, told: bool
) -> None:
    corpus.write("a.md", "ключ\nab cd\n")
    run()
    notices = call("grep_corpus", pattern=pattern, regex=True)["notices"]
    expected = r"\b and \w match ASCII letters only; \pL matches a letter of any script."
    assert (expected in notices) == told


@pytest.mark.parametrize(
    ("pattern", "told"), [("^a", True), (r"\d", True), ("no such", False), ("a*", False)]
)
def test_an_expression_that_was_taken_as_it_is_and_found_nothing_is_said_to_be_one(
    call: Call, corpus: Corpus, run: Run, pattern: str, told: bool
) -> None:
    corpus.write("a.md", "1 a*\n")
    run()
    expected = "The pattern was matched literally; for a regular expression pass regex=True."
    assert (expected in call("grep_corpus", pattern=pattern)["notices"]) == told


def test_a_long_line_is_shown_around_its_match(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("a.md", "x " * 30_000 + "needle " + "y " * 3_000 + "\n")
    run()
    (match,) = call("grep_corpus", pattern="needle")["files"][0]["matches"]
    assert "needle" in match["text"]
    assert len(match["text"]) < 300
    assert match["cut"]


def test_retired_documents_are_searched_when_asked(call: Call, corpus: Corpus, run: Run) -> None:
    corpus.write("old.md", "---\nlifecycle: superseded\n---\nalpha\n")
    run()
    assert call("grep_corpus", pattern="alpha")["total"] == 0
    (file,) = call("grep_corpus", pattern="alpha", include_superseded=True)["files"]
    assert file["lifecycle"] == "superseded"


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*)*x", r"(.*?,){11}P", r"(x+x+)+y", r".{0,500}z"]
)
def test_no_expression_takes_longer_than_its_limit(
    call: Call, corpus: Corpus, run: Run, pattern: str
) -> None:
    corpus.write("a.md", "a" * 60_000 + "!\n" + "x" * 60_000 + "\n" + "1," * 30_000 + "\n")
    run()
    began = time.monotonic()
    answer = call("grep_corpus", pattern=pattern, regex=True)
    assert time.monotonic() - began < 8
    assert "error" not in answer


def test_more_matches_than_asked_for_are_counted(call: Call, corpus: Corpus, run: Run) -> None:
    for n in range(5):
        corpus.write(f"{n}.md", "alpha\n" * 10)
    run()
    answer = call("grep_corpus", pattern="alpha", limit=12)
    assert (answer["total"], answer["total_files"]) == (50, 5)
    assert sum(len(file["matches"]) for file in answer["files"]) == 12
    assert answer["notices"] == ["12 of 50 lines are shown; narrow the pattern or glob."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": ""}, "Argument 'pattern' is empty."),
        ({"pattern": "a\nb"}, "The pattern has a line break."),
        (
            {"pattern": "(", "regex": True},
            "The pattern is not a valid RE2 expression: missing ): (.",
        ),
        ({"pattern": "(?=a)", "regex": True}, "The pattern is not a valid RE2 expression"),
    ],
)
def test_a_pattern_that_is_none_is_said(
    call: Call, corpus: Corpus, run: Run, arguments: dict[str, Any], message: str
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    assert call("grep_corpus", **arguments)["error"].startswith(message)


def test_without_the_extra_an_expression_says_how_to_install_it(
    call: Call, corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    monkeypatch.setitem(sys.modules, "re2", None)
    assert "requirements/regex.txt" in call("grep_corpus", pattern="a+", regex=True)["error"]
    assert call("grep_corpus", pattern="alpha")["total"] == 1
