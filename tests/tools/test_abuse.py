"""Every argument of every tool, wrong in every way: one clear line, and nothing else is read."""

from __future__ import annotations

import itertools
import json
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
import pytest

from local_rag.errors import RagError
from local_rag.server import resources
from local_rag.server.resources import read_resource
from local_rag.server.schemas import listed
from local_rag.settings import load_settings
from local_rag.text.trim import json_size
from local_rag.tools.answer_size import LARGEST_ANSWER_BYTES
from local_rag.tools.toolset import TOOLS, Answer, Toolset, open_toolset
from tests.calling import toolbox
from tests.conftest import Corpus, Run
from tests.server.test_stdio import server

Use = Callable[[str, dict[str, Any]], Answer]

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
    """Toolset over two documents, with a secret beside them and in the root, unindexed."""
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "---\ntags: [ops]\n---\n# Alpha\n\nalpha beta\n")
    corpus.write("sub/b.md", "# Beta\n\nalpha gamma\n")
    corpus.write(".env", SECRET)
    corpus.write("id_rsa", SECRET)
    (corpus.path.parent / "secret.md").write_text(SECRET, encoding="utf-8")
    run()
    with toolbox() as use:
        yield use


def check(answer: Answer, most: int = LARGEST_ANSWER_BYTES) -> None:
    """A clear line or an answer within its cap, and either way no secret."""
    text = answer.text
    assert SECRET not in text
    assert SECRET not in json.dumps(answer.structured, ensure_ascii=False)
    text.encode("utf-8")
    if not answer.is_error:
        assert json_size(answer.structured) <= most
        assert json_size(text) <= most
        return
    assert "\n" not in text
    assert 10 < len(text) < 1_300
    assert text.endswith((".", "?"))
    for word in ("failed inside", "Traceback", "pydantic", "Error("):
        assert word not in text


def test_the_good_calls_are_every_tool(use: Use) -> None:
    known = use("none", {}).text.partition("There are: ")[2].rstrip(".").split(", ")
    assert known == list(GOOD)
    for name, arguments in GOOD.items():
        assert not use(name, arguments).is_error


@pytest.mark.parametrize("tool", GOOD)
def test_every_argument_wrong_in_every_way(use: Use, tool: str) -> None:
    fields = arguments_of(tool)
    for (field, schema), value in itertools.product(fields.items(), WRONG):
        began = time.monotonic()
        answer = use(tool, GOOD[tool] | {field: value})
        check(answer)
        assert time.monotonic() - began < 5, (field, str(value)[:40])
        if is_of_a_wrong_kind(schema, value) and (field, value) != ("end_line", None):
            assert answer.is_error, (field, str(value)[:40])
            assert answer.text.startswith(f"Argument '{field}"), (field, str(value)[:40])
    for field in GOOD[tool]:
        answer = use(tool, {k: v for k, v in GOOD[tool].items() if k != field})
        assert answer.text.startswith(f"Argument '{field}' is missing. It takes: ")


def arguments_of(tool: str) -> dict[str, Any]:
    """A tool's arguments and the schema of each."""
    properties: dict[str, Any] = listed(TOOLS[tool]).input_schema["properties"]
    return properties


def is_of_a_wrong_kind(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value is null, an object, or a list where there must be none, or the reverse."""
    if schema["type"] == "array":
        return not isinstance(value, list) or any(not isinstance(item, str) for item in value)
    return value is None or isinstance(value, list | dict)


@pytest.mark.parametrize("tool", GOOD)
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_an_unknown_argument_is_refused_by_name(use: Use, tool: str, name: str) -> None:
    answer = use(tool, GOOD[tool] | {name: 1})
    check(answer)
    assert answer.is_error
    assert answer.text.startswith("Unknown argument")


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
            assert answer.text.startswith("No indexed document has the path"), path
        check(use("list_files", {"glob": path}))
        check(use("grep_corpus", {"pattern": "the-secret", "glob": path[:1000]}))
        check(use("search_corpus", {"query": "secret", "path": path, "root": path}))
        check(use("fetch", {"ids": [path]}))


def test_no_uri_and_no_completion_leads_out_of_the_index(use: Use, corpus: Corpus) -> None:
    tools = open_toolset(load_settings())
    outside = [str(corpus.path / "../secret.md"), str(corpus.path.parent / "secret.md")]
    for path in [*spellings(), *outside]:
        forms = ("{}", "corpus://{}", "corpus://notes/{}", "corpus://notes//{}", "corpus:///{}",
                 "corpus://../notes/{}", "file://{}", "corpus://notes/sub/../{}")  # fmt: skip
        for uri in (form.format(path) for form in forms):
            with pytest.raises(RagError, match=r"^No indexed document has the URI"):
                read_resource(tools.live, uri)
        for name, root in (("path", None), ("path", "notes"), ("path", path), ("root", None)):
            found = complete(tools, name, path, root)
            assert set(found) <= {"a.md", "sub/b.md", "notes"}, path
    assert complete(tools, "path", "", None) == ["a.md", "sub/b.md"]
    tools.close()


def complete(tools: Toolset, name: str, typed: str, root: str | None) -> list[str]:
    params = {"ref": {"type": "ref/resource", "uri": "corpus://{root}/{+path}"},
              "argument": {"name": name, "value": typed}}  # fmt: skip
    if root is not None:
        params["context"] = {"arguments": {"root": root}}
    asked = types.CompleteRequestParams.model_validate(params)
    return resources.complete(tools.live, asked).completion.values


def test_nothing_outside_the_roots_is_ever_opened(use: Use, corpus: Corpus) -> None:
    tools = open_toolset(load_settings())
    (corpus.path / "a.md").unlink()
    (corpus.path / "a.md").symlink_to(corpus.path.parent / "secret.md")
    with opened_files() as opened:
        for path in spellings():
            use("get_file", {"path": path})
            use("search_corpus", {"query": "alpha", "path": path})
        for tool, arguments in GOOD.items():
            use(tool, arguments)
        use("get_file", {"path": "sub/b.md"})
        with pytest.raises(RagError, match="now leads elsewhere"):
            read_resource(tools.live, "corpus://notes/a.md")
        (corpus.path / "sub" / "b.md").write_text("# Beta\n\nalpha gamma!\n", encoding="utf-8")
        use("get_file", {"path": "sub/b.md"})
    tools.close()
    assert [name for name in opened if "secret" in name or name.endswith((".env", "id_rsa"))] == []


EVENTS: list[list[str]] = []
"""Lists that the audit hook fills while a test looks. A hook can't be taken away again."""


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        for opened in EVENTS:
            opened.append(str(arguments[0]))


sys.addaudithook(hook)


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The names of all files that are opened meanwhile."""
    EVENTS.append([])
    yield EVENTS[-1]
    EVENTS.pop()


def test_the_look_at_opened_files_sees_them(corpus: Corpus) -> None:
    corpus.write("a.md", "alpha")
    with opened_files() as opened:
        (corpus.path / "a.md").read_text(encoding="utf-8")
    assert [name for name in opened if name.endswith("a.md")]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_put_in_a_files_or_folders_place_leads_nowhere(
    use: Use, corpus: Corpus, what: str
) -> None:
    ids = [hit["id"] for hit in hits_of(use, "alpha")]
    outside = corpus.path.parent / "outside"
    outside.mkdir()
    (outside / "b.md").write_text(SECRET, encoding="utf-8")
    file = corpus.path / "sub" / "b.md"
    file.unlink()
    if what == "file":
        file.symlink_to(outside / "b.md")
    else:
        file.parent.rmdir()
        file.parent.symlink_to(outside)
    assert "now leads elsewhere" in use("get_file", {"path": "sub/b.md"}).text
    for tool, arguments in GOOD.items():
        check(use(tool, arguments))
    stale = {hit["path"]: hit.get("stale") for hit in hits_of(use, "alpha")}
    assert stale == {"a.md": None, "sub/b.md": True}
    fetched = use("fetch", {"ids": ids})
    check(fetched)
    assert fetched.structured
    texts = {d["path"]: d.get("stale") for d in fetched.structured["documents"]}
    assert texts == {"a.md": None, "sub/b.md": True}
    outlined = use("outline", {"path": "sub/b.md"})
    check(outlined)
    assert outlined.structured
    assert outlined.structured["stale"] is True
    grepped = use("grep_corpus", {"pattern": "the-secret"})
    check(grepped)
    assert grepped.structured
    assert grepped.structured["total"] == 0


def hits_of(use: Use, query: str) -> list[dict[str, Any]]:
    answer = use("search_corpus", {"query": query})
    assert answer.structured
    hits: list[dict[str, Any]] = answer.structured["hits"]
    return hits


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


def test_wrong_requests_beside_the_tools_leave_the_process_alive(use: Use) -> None:
    wrong: list[Any] = [None, 7, -1, True, 1.5, [], {}, "", "x" * 1_000_000, "\ud800", "\x00"]
    with server() as client:
        client.initialize()
        for value in wrong:
            template = {"type": "ref/resource", "uri": "corpus://{root}/{+path}"}
            for method, params in (
                ("resources/read", {"uri": value}),
                ("resources/read", {"uri": f"corpus://notes/{value}"}),
                ("resources/list", {"cursor": value or "no cursor"}),
                ("prompts/get", {"name": value}),
                ("prompts/get", {"name": "sum_up_document", "arguments": value}),
                ("prompts/get", {"name": "sum_up_document", "arguments": {"path": value or 7}}),
                ("completion/complete", {"ref": value, "argument": {"name": "path", "value": ""}}),
                ("completion/complete", {"ref": template, "argument": value}),
                ("tools/call", {"name": value}),
                ("tools/call", {"name": "get_file", "arguments": value if value != {} else 7}),
            ):
                answer = client.ask(method, params)
                said = json.dumps(answer)
                assert SECRET not in said
                assert "Traceback" not in said
                if method == "prompts/get" and isinstance(value, str) and "result" in answer:
                    continue  # a path is put into the prompt's text as it is, safe to show
                assert "error" in answer or answer["result"]["isError"], (method, str(value)[:40])
        assert not client.call("get_file", path="a.md").get("isError")
