from __future__ import annotations

from typing import Any

import pytest

from local_rag.index.live_index import LiveIndex
from local_rag.settings import Settings
from local_rag.tools.toolset import open_toolset
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama


@pytest.fixture
def paths(corpus: Corpus, ollama: FakeOllama, run: Run, settings: Settings) -> Any:
    """Searches "alpha" with filters; answers the hits' paths and the notices."""
    corpus.write("a.md", "---\ntags: [Ops, db]\nupdated: 2024-05-01\n---\nalpha one")
    corpus.write("b.md", "---\ntags: db\nupdated: 2026-01-15T10:00:00+02:00\n---\nalpha two")
    corpus.write("sub/c.md", "---\nupdated: 2025-03-03\n---\nalpha three")
    corpus.write(
        "sub/old.md",
        "---\nlifecycle: superseded\nsuperseded_by: sub/c.md\nupdated: 2020-01-01\n---\nalpha four",
    )
    run()
    tools = open_toolset(settings)

    def ask(**filters: Any) -> tuple[set[str], list[str]]:
        answer = tools.call("search_corpus", {"query": "alpha", **filters})
        assert answer.structured is not None, answer.text
        hits = answer.structured["hits"]
        return {hit["path"] for hit in hits}, answer.structured["notices"]

    yield ask
    tools.close()


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"a.md", "b.md", "sub/c.md"}),
        ({"path": "sub/*"}, {"sub/c.md"}),
        ({"path": "sub"}, {"sub/c.md"}),
        ({"path": "./sub/"}, {"sub/c.md"}),
        ({"path": "sub\\*.md"}, {"sub/c.md"}),
        ({"path": "notes:sub"}, {"sub/c.md"}),
        ({"path": "**/*.md"}, {"a.md", "b.md", "sub/c.md"}),
        ({"path": "[ab].md"}, {"a.md", "b.md"}),
        ({"path": "c.md"}, {"sub/c.md"}),
        ({"root": "notes"}, {"a.md", "b.md", "sub/c.md"}),
        ({"tags": ["DB"]}, {"a.md", "b.md"}),
        ({"tags": ["db", "#ops"]}, {"a.md"}),
        ({"modified_after": "2025-01-01"}, {"b.md", "sub/c.md"}),
        ({"modified_before": "2025-01-01"}, {"a.md"}),
        ({"modified_after": "2025-01-01", "modified_before": "2025-12-31"}, {"sub/c.md"}),
        ({"include_superseded": True}, {"a.md", "b.md", "sub/c.md", "sub/old.md"}),
        ({"include_superseded": True, "path": "sub/*"}, {"sub/c.md", "sub/old.md"}),
    ],
)
def test_a_filter_limits_both_arms(
    paths: Any, mode: str, filters: dict[str, Any], expected: set[str]
) -> None:
    assert paths(mode=mode, **filters) == (expected, [])


@pytest.mark.parametrize(
    ("filters", "name"),
    [
        ({"root": "other"}, "root='other'"),
        ({"path": "nowhere/*"}, "path='nowhere/*'"),
        ({"tags": ["db", "absent"]}, "tags='absent'"),
        ({"modified_after": "2030-01-01"}, "modified_after='2030-01-01'"),
    ],
)
def test_a_filter_that_lets_nothing_through_is_named(
    paths: Any, filters: dict[str, Any], name: str
) -> None:
    assert paths(**filters) == (set(), [f"No indexed document matches the filter {name}."])


def test_a_match_in_superseded_documents_alone_is_told(
    corpus: Corpus, ollama: FakeOllama, run: Run, settings: Settings
) -> None:
    corpus.write("old.md", "---\nlifecycle: superseded\n---\nCapistrano deploys\n")
    corpus.write("new.md", "Kamal deploys\n")
    run()
    tools = open_toolset(settings)

    def notices(tool: str, **arguments: Any) -> list[str]:
        answer = tools.call(tool, arguments).structured
        assert answer is not None
        return list(answer["notices"])

    told = "1 superseded documents match; to search them pass include_superseded=True."
    ask = {"query": "Capistrano", "mode": "keyword"}
    assert told in notices("search_corpus", **ask)
    assert told not in notices("search_corpus", **ask, include_superseded=True)
    assert told not in notices("search_corpus", query="Kamal", mode="keyword")
    assert told not in notices("search_corpus", query="Mercurial", mode="keyword")
    told = "Superseded documents were not searched; pass include_superseded=True."
    assert told in notices("grep_corpus", pattern="Capistrano")
    assert told not in notices("grep_corpus", pattern="Kamal")
    tools.close()


def test_looking_for_superseded_matches_never_costs_the_answer(
    corpus: Corpus,
    ollama: FakeOllama,
    run: Run,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With them the filter lets more documents through than Chroma takes in one condition."""
    corpus.write("in/old.md", "---\nlifecycle: superseded\n---\nCapistrano deploys\n")
    for name in ("in/new.md", "b.md", "c.md"):
        corpus.write(name, "Kamal deploys\n")
    run()
    monkeypatch.setattr("local_rag.search.filters.MOST_NUMBERS", 1)
    tools = open_toolset(settings)
    answer = tools.call("search_corpus", {"query": "Capistrano", "path": "in/*"})
    assert answer.structured is not None, answer.text
    told = "1 superseded documents match; to search them pass include_superseded=True."
    assert told in answer.structured["notices"]
    tools.close()


def test_an_index_without_documents_says_so(
    corpus: Corpus, ollama: FakeOllama, run: Run, settings: Settings
) -> None:
    corpus.write("a.md", "alpha")
    run()
    (corpus.path / "a.md").unlink()
    run(allow_empty=True)
    tools = open_toolset(settings)
    answer = tools.call("search_corpus", {"query": "alpha"}).structured
    assert answer is not None
    told = "The index holds no documents; run ingest.py on a folder that has some."
    assert (answer["hits"], told in answer["notices"]) == ([], True)
    tools.close()


def test_a_superseded_hit_names_its_replacement(paths: Any, live: LiveIndex) -> None:
    with live.use() as index:
        (old,) = [f for f in index.catalog.files() if f.lifecycle == "superseded"]
    assert old.superseded_by == "sub/c.md"


def test_a_date_that_is_none_is_refused(paths: Any, settings: Settings) -> None:
    tools = open_toolset(settings)
    answer = tools.call("search_corpus", {"query": "x", "modified_after": "last week"})
    assert answer.is_error
    assert answer.text == "'last week' is not a date. Write it as 2026-05-31."
    tools.close()
