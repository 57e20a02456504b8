"""No answer of any tool is longer than its cap, whatever the documents look like."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from local_rag.server.resources import complete, list_resources, read_resource
from local_rag.settings import load_settings
from local_rag.text.trim import json_size
from local_rag.tools.answer_size import LARGEST_ANSWER_BYTES
from local_rag.tools.toolset import Answer, open_toolset
from tests.calling import follow, toolbox, whole
from tests.conftest import Corpus, Run

Use = Callable[[str, dict[str, Any]], Answer]
CAP = 8_192
WORDS = "alpha needle beta "


def nasty() -> dict[str, str]:
    """Documents by path."""
    long_path = "/".join(["a folder with a rather long name " * 3] * 6)
    emoji, quotes = "🦀" * 3_000, '"\\' * 3_000
    found = {
        f"{long_path}/{'n' * 200}.md": f"# {'Long ' * 2_000}\n\n{WORDS * 100}\n",
        "title.md": f"---\ntitle: {'T' * 50_000}\ntags: [{', '.join(map(str, range(900)))}]\n---\n"
        f"{WORDS * 50}\n",
        "emoji.md": f"# {emoji}\n\n{WORDS}{emoji}\n\n## {emoji}\n\n{WORDS}\n",
        "quotes.md": f"# {quotes}\n\n{WORDS}{quotes}\n",
        "line.md": WORDS * 4_000,
        "lines.md": "\n".join(["a", "needle"] * 8_000),
        "blank.md": "needle" + "\n" * 20_000 + "alpha\n",
        "deep.md": "".join(f"{'#' * n} {'Ы' * 900}{n}\n\n{WORDS * 30}\n\n" for n in range(1, 7)),
        "headings.md": "".join(f"# {'Глава ' * 60}{n}\n\n{WORDS}\n\n" for n in range(400)),
        "steer.md": f"# a\u202e\n\n{WORDS * 300}\x1b]0;x\n",
        "old.md": f"---\nlifecycle: superseded\nsuperseded_by: {'o' * 9_000}\n---\n{WORDS * 90}\n",
    }
    return found | {f"many/{n:03}-{'x' * 150}.md": f"# {n}\n\n{WORDS * 60}" for n in range(120)}


@pytest.fixture
def use(corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    for path, text in nasty().items():
        corpus.write(path, text)
    corpus.write("binary-" + "b" * 200 + ".md", b"\0\1")
    run()
    for path, text in list(nasty().items())[:40]:
        corpus.write(path, text + "changed since\n")
    with toolbox() as use:
        yield use


def check(answer: Answer, cap: int) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    assert answer.structured is not None
    assert json_size(answer.structured) <= cap
    assert json_size(answer.text) <= cap
    return answer.structured


def test_default_answers_take_eight_kilobytes_at_most(use: Use) -> None:
    for query in ("needle", "alpha beta", "Long", "Глава", "needle 🦀", "T" * 3_000):
        for more in ({}, {"include_superseded": True}, {"mode": "keyword"}, {"path": "many/*"}):
            check(use("search_corpus", {"query": query, **more}), CAP)
    for more in ({}, {"sort": "title"}, {"sort": "size"}, {"glob": "many/*"}):
        check(use("list_files", more), CAP)
    for pattern in ("needle", "a", "🦀", "x", '"'):
        check(use("grep_corpus", {"pattern": pattern}), CAP)
        check(use("grep_corpus", {"pattern": pattern, "context": 5}), CAP)
        check(use("grep_corpus", {"pattern": f"[{pattern}]", "regex": True}), CAP)
    check(use("corpus_status", {}), CAP)
    for path in [*nasty()][:12]:
        check(use("get_file", {"path": path}), CAP)
        check(use("outline", {"path": path}), CAP)


def test_larger_limits_have_a_cap_too_and_say_what_was_left_out(use: Use) -> None:
    found = check(
        use("search_corpus", {"query": "needle alpha", "limit": 20}), LARGEST_ANSWER_BYTES
    )
    listed = check(use("list_files", {"limit": 200}), LARGEST_ANSWER_BYTES)
    assert listed["next_cursor"]
    lines = check(
        use("grep_corpus", {"pattern": "a", "limit": 200, "context": 5}), LARGEST_ANSWER_BYTES
    )
    assert "lines are shown" in lines["notices"][-1]
    ids = [hit["id"] for hit in found["hits"]]
    for n in range(1, 11):
        fetched = check(use("fetch", {"ids": ids[:n], "before": 5, "after": 5}), CAP)
        shown = [i for d in fetched["documents"] for s in d["stretches"] for i in s["ids"]]
        assert set(shown) == set(ids[:n]) or "The rest: fetch(ids=" in fetched["notices"][-1]


def test_a_status_of_many_roots_and_warnings_fits_and_says_that_it_is_cut(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / f"{n}{'r' * 200}" for n in range(12)]
    for folder in folders:
        for n in range(4):
            file = folder / f"{'d' * 240}" / f"{n}{'n' * 240}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"---\nlifecycle: {'odd' * 20}\n---\nalpha\n", encoding="utf-8")
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("RAG_CORPUS_DIR", os.pathsep.join(map(str, folders)))
    run()
    for folder in folders:
        (folder / "new.md").write_text("new", encoding="utf-8")
    monkeypatch.setenv("RAG_CORPUS_DIR", str(folders[0]))
    with toolbox() as use:
        answer = check(use("corpus_status", {}), CAP)
    assert answer["notices"][-1] == "Some warnings, files or roots are left out to fit this answer."
    assert answer["files"] == 48
    assert answer["refresh_command"].endswith("ingest.py")


def test_resources_come_in_pages_that_fit_and_are_cut_to_their_room(use: Use) -> None:
    tools = open_toolset(load_settings())
    cursor, listed = None, []
    while True:
        page = list_resources(tools.live, cursor)
        assert (
            json_size(page.model_dump(mode="json", by_alias=True, exclude_none=True))
            <= LARGEST_ANSWER_BYTES
        )
        listed += page.resources
        cursor = page.next_cursor
        if not cursor:
            break
    names = use("list_files", {"lifecycle": "active"}).structured
    assert names
    assert len({resource.uri for resource in listed}) == names["total"]
    for resource in listed[:20]:
        read = read_resource(tools.live, str(resource.uri))
        assert json_size(read.model_dump(mode="json", by_alias=True, exclude_none=True)) <= 100_000
    typed = {"ref": {"type": "ref/prompt", "name": "sum_up_document"},
             "argument": {"name": "path", "value": "many/"}}  # fmt: skip
    found = complete(tools.live, types.CompleteRequestParams.model_validate(typed)).completion
    assert json_size(found.model_dump(mode="json")) <= CAP
    assert (found.total, found.has_more) == (120, True)
    assert 20 < len(found.values) < 50
    tools.close()


def test_a_cut_resource_goes_on_with_the_call_it_spells_out(use: Use) -> None:
    tools = open_toolset(load_settings())
    for path in ("line.md", "emoji.md", "lines.md", "headings.md"):
        (content,) = read_resource(tools.live, f"corpus://notes/{path}").contents
        assert isinstance(content, types.TextResourceContents)
        text = content.text.partition("as indexed.]\n\n")[2]
        text, _, spelled = text.partition("\n[Cut. The rest: ")
        if spelled:
            page = follow(lambda name, **given: check(use(name, given), CAP), spelled[:-1])
            text += page["text"]
            while page.get("next_call"):
                page = follow(lambda name, **given: check(use(name, given), CAP), page["next_call"])
                text += page["text"]
        assert text == nasty()[path]
    tools.close()


def test_nasty_documents_are_read_whole_by_following_the_calls(use: Use) -> None:
    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return check(use(name, arguments), CAP)

    texts = nasty()
    for path in ("emoji.md", "quotes.md", "line.md", "lines.md", "blank.md", "title.md"):
        assert whole(call, path) == texts[path]
    page = call("outline", path="headings.md")
    count = len(page["entries"])
    while page.get("next_call"):
        page = follow(call, page["next_call"])
        count += len(page["entries"])
    assert count == 400
