"""Calls, their checks and their failures, without the process around them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from local_rag.settings import Settings
from local_rag.tools.toolset import Answer, open_toolset
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama

Call = Callable[..., Answer]


@pytest.fixture
def call(ollama: FakeOllama, settings: Settings) -> Iterator[Call]:
    tools = open_toolset(settings)
    yield lambda name, **arguments: tools.call(name, arguments)
    tools.close()


def hits_of(result: Answer) -> list[dict[str, Any]]:
    assert result.structured is not None, result.text
    hits: list[dict[str, Any]] = result.structured["hits"]
    return hits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Argument 'query' is missing. It takes: A question, a few words, or an exact name,"),
        ({"qury": "x"}, "Unknown argument 'qury'. Did you mean query?"),
        ({"query": 7}, "Argument 'query': Input should be a valid string. It takes: A question,"),
        ({"query": "x", "limit": "many"}, "Argument 'limit': Input should be a valid integer"),
        ({"query": None}, "Argument 'query': Input should be a valid string. It takes: A quest"),
        (
            {"query": "x", "tags": [1]},
            "Argument 'tags.0': Input should be a valid string. It takes",
        ),
    ],
)
def test_wrong_arguments_are_one_clear_line(
    call: Call, arguments: dict[str, Any], message: str
) -> None:
    answer = call("search_corpus", **arguments)
    assert answer.is_error
    assert answer.text.startswith(message)
    assert "\n" not in answer.text


def test_an_unknown_tool_is_named(call: Call) -> None:
    assert call("delete_corpus").text.startswith(
        "There is no tool 'delete_corpus'. There are: search_corpus, fetch, get_file"
    )


def test_a_limit_out_of_range_is_clamped_and_said(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    for n in range(25):
        corpus.write(f"{n}.md", f"note {n}")
    run()
    result = call("search_corpus", query="note", limit=1000)
    assert len(hits_of(result)) == 20
    assert result.structured
    assert result.structured["notices"] == [
        "limit 1000 is out of range; used 20.",
        "5 more passages match; to see others, narrow the query.",
    ]


@pytest.mark.parametrize(
    "query", ["\ud800 alpha", "alpha \x00\x1b[2J", "\u202ealpha", "a" * 1_000_000]
)
def test_odd_characters_in_a_query_are_no_failure(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, query: str
) -> None:
    corpus.write("a.md", "alpha")
    run()
    assert not call("search_corpus", query=query).is_error


def test_no_match_no_index_a_broken_index_and_no_embedder_are_four_answers(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    no_index = call("search_corpus", query="alpha")
    assert (no_index.is_error, "There is no index yet" in no_index.text) == (True, True)
    corpus.write("a.md", "---\nlifecycle: superseded\n---\nalpha")
    report = run()
    no_match = call("search_corpus", query="alpha")
    assert (no_match.is_error, no_match.text) == (
        False,
        "Notice: 1 superseded documents match; to search them pass include_superseded=True.\n\n"
        "No match: the documents were searched and no passage matches this query.",
    )
    ollama.stop()
    away = call("search_corpus", query="alpha")
    assert away.structured
    assert "Ollama is not running" in away.structured["notices"][0]
    store = corpus.path.parent / "store"
    (store / "CURRENT").write_text("nothing-of-that-name", encoding="utf-8")
    (store / "snapshots" / report.published / "manifest.json").unlink()
    broken = call("search_corpus", query="alpha")
    assert (broken.is_error, "does not name a snapshot" in broken.text) == (True, True)


def test_an_embedder_that_is_away_leaves_keyword_hits_with_a_notice(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha E-1042")
    corpus.write("b.md", "beta")
    run()
    ollama.stop()
    answer = call("search_corpus", query="E-1042")
    assert [hit["path"] for hit in hits_of(answer)] == ["a.md"]
    assert answer.text.startswith("Notice: Keyword matches only: Ollama is not running at")


def test_other_weights_under_the_same_name_are_noticed_at_the_first_query(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.digest = "b" * 64
    answer = call("search_corpus", query="alpha")
    assert "is not the embedder that this index was built with" in answer.text
    assert [hit["path"] for hit in hits_of(answer)] == ["a.md"]


def test_vectors_that_drifted_are_noticed_at_the_first_query(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.change_vectors = lambda vectors: [v[::-1] for v in vectors]
    assert "vectors no longer match" in call("search_corpus", query="alpha").text


def test_a_file_is_read_by_its_path_in_pages(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    lines = [f"line {n} of a long file with some text in it\n" for n in range(1, 501)]
    corpus.write("long.md", "".join(lines))
    run()
    text, start = "", 1
    while start:
        page = call("get_file", path="long.md", start_line=start).structured
        assert page
        text += page["text"]
        call_for_rest = page.get("next_call")
        start = page["end_line"] + 1 if call_for_rest else 0
        if call_for_rest:
            assert call_for_rest == f"get_file(path='notes:long.md', start_line={start})"
    assert text == "".join(lines)


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "/etc/passwd",
        "notes:../secret.md",
        "sub/../../secret.md",
        "..\\secret.md",
        "%2e%2e/secret.md",
        "file:///etc/passwd",
        "unindexed.bin",
        "",
        "\x00",
    ],
)
def test_only_indexed_paths_are_read(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, path: str
) -> None:
    corpus.write("a.md", "alpha")
    corpus.write("unindexed.bin", b"\0\1")
    (corpus.path.parent / "secret.md").write_text("secret", encoding="utf-8")
    run()
    answer = call("get_file", path=path)
    assert answer.is_error
    assert "No indexed document has the path" in answer.text


def test_a_path_that_became_a_link_is_refused(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    file = corpus.write("sub/a.md", "alpha")
    outside = corpus.path.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("alpha", encoding="utf-8")
    run()
    file.unlink()
    file.symlink_to(outside / "a.md")
    assert "now leads elsewhere" in call("get_file", path="sub/a.md").text
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(outside)
    assert "now leads elsewhere" in call("get_file", path="sub/a.md").text


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda file: None, "current"),
        (lambda file: file.touch(), "current"),
        (lambda file: file.write_text("gamma\nbeta\n", encoding="utf-8"), "changed"),
        (lambda file: file.write_text("longer than before\n", encoding="utf-8"), "changed"),
        (lambda file: file.unlink(), "gone"),
    ],
    ids=["untouched", "touched", "same size", "other size", "deleted"],
)
def test_the_indexed_text_is_served_with_the_state_of_the_file(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, change: Any, state: str
) -> None:
    file = corpus.write("a.md", "alpha\nbeta\n")
    run()
    change(file)
    page = call("get_file", path="a.md").structured
    assert page
    assert (page["state"], page["text"]) == (state, "alpha\nbeta\n")


def test_text_of_documents_cannot_steer_a_terminal(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", '---\ntitle: "x \\e[31m"\n---\nalpha \x1b]0;evil\x07 \u202e beta')
    run()
    (hit,) = hits_of(call("search_corpus", query="alpha"))
    assert (hit["title"], hit["text"]) == ("x \\x1b[31m", "alpha ]0;evil  beta")


@pytest.mark.parametrize("query", ["", "  ", "\x00"])
def test_an_empty_query_is_no_search_without_a_match(call: Call, query: str) -> None:
    answer = call("search_corpus", query=query)
    assert (answer.is_error, answer.text) == (
        True,
        "The query is empty. Ask a question, or give a few words.",
    )


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("query", ["???", "-> && !", "— …", "$ @ _"])
def test_a_query_of_signs_alone_is_no_search_without_a_match(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, query: str, mode: str
) -> None:
    corpus.write("a.md", "alpha ??? -> beta")
    run()
    answer = call("search_corpus", query=query, mode=mode)
    assert (answer.is_error, answer.text) == (
        True,
        "The query has no searchable words. Use words, or grep_corpus for literal symbols.",
    )


def test_a_picture_sign_is_searched_by_meaning_where_that_can_be_done(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    assert len(hits_of(call("search_corpus", query="🦀"))) == 1
    assert "no searchable words" in call("search_corpus", query="🦀", mode="keyword").text


def test_an_answer_looks_for_the_nearest_stretches_for_no_longer_than_a_second(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(8):
        corpus.write(f"{n}.md", f"note{n} " * 300)
    run()
    call("search_corpus", query="note1")
    busy = itertools.count(step=0.6)  # seconds: a machine on which each look takes as long
    clock = SimpleNamespace(monotonic=lambda: next(busy))
    monkeypatch.setattr("local_rag.search.snippets.time", clock)
    looks: list[int] = []
    ollama.before_embed = lambda texts: looks.append(texts[0].startswith("title: "))
    assert len(hits_of(call("search_corpus", query="zebra", limit=8))) == 8
    assert sum(looks) == 2


def test_a_search_by_meaning_that_cannot_be_made_is_an_error(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.stop()
    answer = call("search_corpus", query="alpha", mode="semantic")
    assert answer.is_error
    assert "Ollama is not running" in answer.text
