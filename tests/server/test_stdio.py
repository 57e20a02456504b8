"""The server as clients meet it: a process, its pipes, and JSON-RPC lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from local_rag.index.snapshots import Store
from local_rag.server.stdout import UNHEARD
from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama

SERVER = PROJECT_DIR / "server.py"
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


class RawClient:
    """Writes and reads JSON-RPC lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def send(self, method: str, params: dict[str, Any] | None = None) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._last += 1
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}}
        self._write(message)
        while (answer := self.read()).get("id") != self._last:
            assert "error" in answer
        return answer

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        return answer

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        result: dict[str, Any] = self.ask("initialize", params)["result"]
        self.send("notifications/initialized")
        return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", {"name": name, "arguments": arguments})[
            "result"
        ]
        return result

    def write_line(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def _write(self, message: dict[str, Any]) -> None:
        self.write_line(json.dumps(message).encode("utf-8"))


@contextmanager
def server() -> Iterator[RawClient]:
    process = subprocess.Popen(
        [sys.executable, str(SERVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    try:
        yield RawClient(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=20) == 0
        assert process.stdout
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


def paths(result: dict[str, Any]) -> list[str]:
    return [hit["path"] for hit in result["structuredContent"]["hits"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_byte_on_stdout_is_protocol_and_a_closed_stdin_ends_the_process(
    version: str, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "# A\n\nalpha beta\n")
    run()
    with server() as client:
        assert client.initialize(version)["protocolVersion"] == version
        tools = client.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools][:3] == ["search_corpus", "fetch", "get_file"]
        assert paths(client.call("search_corpus", query="alpha")) == ["a.md"]


def test_the_tools_say_on_the_wire_that_they_only_read(corpus: Corpus) -> None:
    with server() as client:
        client.initialize()
        for tool in client.ask("tools/list")["result"]["tools"]:
            assert tool["annotations"] == {
                "readOnlyHint": True,
                "idempotentHint": True,
                "destructiveHint": False,
                "openWorldHint": False,
            }
            assert tool["inputSchema"]["additionalProperties"] is False
            assert tool["outputSchema"]["type"] == "object"


def test_before_any_ingest_it_says_so_creates_nothing_and_answers_afterwards(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, tmp_path: Path
) -> None:
    corpus.write("a.md", "alpha")
    with server() as client:
        client.initialize()
        answer = client.call("search_corpus", query="alpha")
        assert answer["isError"]
        assert answer["content"][0]["text"] == (
            f"There is no index yet in {store.path}. Run ingest.py to build it."
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["notes"]
        run()
        assert paths(client.call("search_corpus", query="alpha")) == ["a.md"]


def test_a_new_snapshot_is_followed_without_a_restart(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    with server() as client:
        client.initialize()
        assert paths(client.call("search_corpus", query="alpha")) == ["a.md"]
        corpus.write("b.md", "alpha beta")
        (corpus.path / "a.md").unlink()
        run()
        assert paths(client.call("search_corpus", query="alpha")) == ["b.md"]


def test_a_superseded_document_is_hidden_and_shown_again_as_its_key_says(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    text = "promote the standby by hand\n"
    corpus.write("old.md", "---\nlifecycle: superseded\nsuperseded_by: new.md\n---\n" + text)
    corpus.write("new.md", "use the warden\n")
    run()
    with server() as client:
        client.initialize()
        assert paths(client.call("search_corpus", query=text)) == ["new.md"]
        corpus.write("old.md", text)
        run()
        assert paths(client.call("search_corpus", query=text)) == ["old.md", "new.md"]
        corpus.write("old.md", "---\nlifecycle: superseded\n---\n" + text)
        run()
        assert paths(client.call("search_corpus", query=text)) == ["new.md"]


def test_a_superseded_document_can_be_read_under_a_banner(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("old.md", "---\nlifecycle: superseded\nsuperseded_by: new.md\n---\nold\n")
    run()
    with server() as client:
        client.initialize()
        content = client.call("get_file", path="old.md")["structuredContent"]
        assert content["notices"] == [
            "This document is superseded by new.md; do not rely on it.",
        ]


def test_lines_that_are_no_protocol_do_not_end_the_process(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    with server() as client:
        client.initialize()
        client.write_line(b"this is no JSON")
        client.write_line(b'{"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": 7}')
        client.write_line(b"\xff\xfe\x00")
        assert paths(client.call("search_corpus", query="alpha")) == ["a.md"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize("stdout", ["closed", "full"])
def test_a_server_that_nobody_can_hear_ends_with_one_line(corpus: Corpus, stdout: str) -> None:
    if stdout == "full":
        heard = os.open("/dev/full", os.O_WRONLY)
    else:
        read, heard = os.pipe()
        os.close(read)
    process = subprocess.Popen(
        [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=heard, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stderr
    asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    said = process.stderr.read().decode()
    assert (process.wait(timeout=20), said) == (1, UNHEARD)
    for open_ in (process.stdin, process.stderr):
        open_.close()
    os.close(heard)


def test_a_lone_surrogate_in_a_query_is_answered(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    with server() as client:
        client.initialize()
        assert paths(client.call("search_corpus", query="\ud800 alpha")) == ["a.md"]


def test_the_sdks_own_client_gets_structured_content(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("sub/a.md", "# Title\n\nintro\n")
    run()

    async def ask() -> dict[str, Any] | None:
        parameters = StdioServerParameters(
            command=sys.executable, args=[str(SERVER)], env=dict(os.environ)
        )
        async with Client(stdio_client(parameters)) as client:
            return (await client.call_tool("search_corpus", {"query": "intro"})).structured_content

    content = anyio.run(ask)
    assert content
    (hit,) = content["hits"]
    assert {k: v for k, v in hit.items() if k not in ("id", "cosine")} == {
        "root": "notes",
        "path": "sub/a.md",
        "title": "Title",
        "headings": [],
        "start_line": 1,
        "end_line": 3,
        "text": "# Title\n\nintro",
        "score": 1.0,
        "keyword_rank": 1,
        "weak": False,
    }
