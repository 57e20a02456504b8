"""Every argument of every tool, wrong in every way: one clear line, and nothing else is read."""

from __future__ import annotations

import itertools
import json
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import mcp_types as types
import pytest

from local_rag.fitting import LARGEST, size
from tests.calling import text_of, toolbox
from tests.conftest import Corpus, Run
from tests.test_server import server

Use = Callable[[str, dict[str, Any]], types.CallToolResult]

GOOD: dict[str, dict[str, Any]] = {
    "search_corpus": {"query": "alpha"},
    "fetch": {"ids": ["0123456789abcdef"]},
    "get_file": {"path": "a.md"},
    "list_files": {},
    "outline": {"path": "a.md"},
    "grep_corpus": {"pattern": "alpha"},
    "corpus_status": {},
}
WRONG: list[Any] = [
    None, True, 7, -1, 0, 10**30, -(10**30), 10**5_000, 1.5, float("nan"), float("inf"), "", " ",
    "x", "\ud800", "a\ud800b", "\x00", "a\nb", "\u202e", "NaN", "-1", "9" * 5_000, "x" * 1_000_000,
    "*" * 900, "[" * 900, "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-02-30",
    [], {}, [None], [7], ["\ud800"], ["x" * 1_000_000], ["x"] * 5_000, [[]], {"a": "b"}, "(a+)+$",
]  # fmt: skip
NAMES = ["pth", "QUERY", "", "\ud800", "x" * 1_000_000, "limit ", "__class__", "a\nb"]
SECRET = "the-secret-that-no-answer-has"


@pytest.fixture
def use(corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Tools over two documents, with a secret beside them and in the root, unindexed."""
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "---\ntags: [ops]\n---\n# Alpha\n\nalpha beta\n")
    corpus.write("sub/b.md", "# Beta\n\nalpha gamma\n")
    corpus.write(".env", SECRET)
    corpus.write("id_rsa", SECRET)
    (corpus.path.parent / "secret.md").write_text(SECRET, encoding="utf-8")
    run()
    with toolbox() as use:
        yield use


def check(answer: types.CallToolResult, most: int = LARGEST) -> None:
    """A clear line or an answer within its cap, and either way no secret."""
    text = text_of(answer)
    assert SECRET not in text
    assert SECRET not in json.dumps(answer.structured_content, ensure_ascii=False)
    text.encode("utf-8")
    if not answer.is_error:
        assert size(answer.structured_content) <= most
        assert size(text) <= most
        return
    assert "\n" not in text
    assert 10 < len(text) < 1_300
    assert text.endswith((".", "?"))
    for word in ("failed inside", "Traceback", "pydantic", "Error("):
        assert word not in text


def test_the_good_calls_are_every_tool(use: Use) -> None:
    known = text_of(use("none", {})).partition("There are: ")[2].rstrip(".").split(", ")
    assert known == list(GOOD)
    for name, arguments in GOOD.items():
        assert not use(name, arguments).is_error


@pytest.mark.parametrize("tool", GOOD)
def test_every_argument_wrong_in_every_way(use: Use, tool: str) -> None:
    from local_rag.serve import load_tools
    from local_rag.settings import load_settings
    from local_rag.toolbox import tool_specs

    specs = {spec.name: spec for spec in tool_specs(load_tools(load_settings()))}
    for field, value in itertools.product(specs[tool].arguments.model_fields, WRONG):
        began = time.monotonic()
        check(use(tool, GOOD[tool] | {field: value}))
        assert time.monotonic() - began < 5, (field, str(value)[:40])
    for field in GOOD[tool]:
        answer = use(tool, {k: v for k, v in GOOD[tool].items() if k != field})
        assert text_of(answer).startswith(f"Argument '{field}' is missing. It takes: ")


@pytest.mark.parametrize("tool", GOOD)
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_an_unknown_argument_is_refused_by_name(use: Use, tool: str, name: str) -> None:
    answer = use(tool, GOOD[tool] | {name: 1})
    check(answer)
    assert answer.is_error
    assert text_of(answer).startswith("Unknown argument")


def spellings() -> list[str]:
    """Ways to write a path that leads to the secret beside the root, or to one in it."""
    ups = ["..", "%2e%2e", "..%2f..", "%252e%252e", "．．", "..;", ".. ", "..\\..", "....//..",
           "\u2025", "..%c0%af..", "\x00/.."]  # fmt: skip
    slashes = ["/", "\\", "%2f", "%5c", "//", "/./", "\u2215", "%c0%af"]
    found = [f"{up}{slash}secret.md" for up in ups for slash in slashes]
    found += [f"{prefix}{up}/secret.md" for up in ups
              for prefix in ("notes:", "notes/", "sub/../", "a.md/", "./")]  # fmt: skip
    found += [
        "/etc/passwd", "file:///etc/passwd", "C:\\Windows\\win.ini", "\\\\?\\C:\\secret.md",
        "\\\\host\\share\\secret.md", "~/secret.md", "$HOME/secret.md", "/proc/self/environ",
        "notes:/etc/passwd", "notes://secret.md", "CON", "NUL", "a.md:stream", "a.md::$DATA",
        ".env", "id_rsa", "notes:.env", "sub/../.env", "./id_rsa", ".//.env", "%2eenv", "ID_RSA",
        "corpus://notes/../secret.md", "corpus://notes/%2e%2e/secret.md", "/dev/stdin", "", ".",
        "..", "/", "a.md/", "a.md\x00.env", "*", "?", "[a].md", "sub", "sub/", "secret.md\n",
    ]  # fmt: skip
    return [*found, *(urllib.parse.quote(path) for path in found[:40])]


def test_no_spelling_of_a_path_leads_out_of_the_index(use: Use, corpus: Corpus) -> None:
    tried = [*spellings(), str(corpus.path / "../secret.md"), str(corpus.path.parent / "secret.md")]
    assert len(tried) >= 200
    for path in tried:
        for tool in ("get_file", "outline"):
            answer = use(tool, {"path": path})
            check(answer)
            assert text_of(answer).startswith("No indexed document has the path"), path
        check(use("list_files", {"glob": path}))
        check(use("grep_corpus", {"pattern": "the-secret", "glob": path[:1000]}))
        check(use("search_corpus", {"query": "secret", "path": path, "root": path}))
        check(use("fetch", {"ids": [path]}))


def test_a_link_put_in_a_files_place_leads_nowhere(use: Use, corpus: Corpus) -> None:
    file = corpus.path / "a.md"
    file.unlink()
    file.symlink_to(corpus.path.parent / "secret.md")
    assert "now leads elsewhere" in text_of(use("get_file", {"path": "a.md"}))
    for tool, arguments in GOOD.items():
        check(use(tool, arguments))
    hits = use("search_corpus", {"query": "beta"}).structured_content
    assert hits
    assert [hit.get("stale") for hit in hits["hits"] if hit["path"] == "a.md"] == [True]


def test_wrong_calls_over_the_pipe_leave_the_process_alive(use: Use) -> None:
    wrong: list[Any] = [None, float("nan"), float("inf"), 10**30, "x" * 1_000_000, "\ud800", [], {}]
    with server() as client:
        client.initialize()
        for tool, value in itertools.product(("get_file", "grep_corpus"), wrong):
            field = "path" if tool == "get_file" else "limit"
            answer = client.ask("tools/call", {"name": tool, "arguments": {field: value}})
            assert "error" in answer or answer["result"]["isError"]
        for name in ("no_tool", "", "x" * 1_000_000):
            assert client.call(name)["isError"]
        assert not client.call("get_file", path="a.md").get("isError")
