"""A server whose set-up is broken: it starts, lists its tools, says what mends it, and recovers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.server.test_stdio import SERVER, RawClient, paths

TOOLS = 7


@contextmanager
def started(command: Sequence[str]) -> Iterator[RawClient]:
    process = subprocess.Popen(
        list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield RawClient(process)
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


def told(client: RawClient, tool: str = "list_files", **arguments: Any) -> str:
    result = client.call(tool, **arguments)
    assert result["isError"]
    (content,) = result["content"]
    text: str = content["text"]
    return text


def test_a_broken_settings_file_is_named_until_it_is_mended(
    corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "alpha")
    run()
    config = tmp_path / "config.toml"
    config.write_text("secrets = 'maybe'\n", encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    with started([sys.executable, str(SERVER)]) as client:
        client.initialize()
        assert len(client.ask("tools/list")["result"]["tools"]) == TOOLS
        error = client.ask("resources/list")["error"]["message"]
        assert "secrets in" in error
        assert told(client) == told(client, "search_corpus", query="x") == error
        config.write_text("embedder = 'none'\n", encoding="utf-8")
        assert paths(client.call("search_corpus", query="alpha")) == ["a.md"]
        assert len(client.ask("resources/list")["result"]["resources"]) == 1


def test_missing_packages_are_named(corpus: Corpus) -> None:
    with started([sys.executable, "-S", str(SERVER)]) as client:
        client.initialize()
        assert len(client.ask("tools/list")["result"]["tools"]) == TOOLS
        for _ in range(2):
            assert "is not installed for" in told(client)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_store_that_may_not_be_read_is_named(corpus: Corpus, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir(mode=0)
    with started([sys.executable, str(SERVER)]) as client:
        client.initialize()
        assert "Permission denied" in told(client)
    store.chmod(0o700)


def test_all_that_was_asked_before_the_client_hung_up_is_answered(corpus: Corpus) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = [("initialize", hello), ("ping", {}), ("tools/list", {}), ("prompts/list", {})]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}) + "\n"
        for n, (method, params) in enumerate(asked)
    ]
    done = subprocess.run(
        [sys.executable, str(SERVER)],
        input="".join(lines),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1, 2, 3]
    assert done.stderr == ""


def test_a_running_server_outlives_its_checkout(
    corpus: Corpus, ollama: FakeOllama, run: Run, tmp_path: Path
) -> None:
    corpus.write("a.md", "# A\n\nalpha\n")
    corpus.write("b.md", "---\nlifecycle: superseded\nsuperseded_by: a.md\n---\nbeta\n")
    run()
    checkout = tmp_path / "checkout"
    shutil.copytree(
        PROJECT_DIR / "local_rag", checkout / "local_rag", ignore=lambda _, names: ["__pycache__"]
    )
    shutil.copy(SERVER, checkout)
    with started([sys.executable, str(checkout / "server.py")]) as client:
        client.initialize()
        assert (
            "isError" not in client.call("list_files") or not client.call("list_files")["isError"]
        )
        shutil.rmtree(checkout / "local_rag")
        (checkout / "local_rag").mkdir()
        (hit,) = client.call("search_corpus", query="alpha")["structuredContent"]["hits"]
        (corpus.path / "a.md").write_text("# A\n\nalpha, changed\n", encoding="utf-8")
        corpus.write("new.md", "---\nrag: false\n---\ngamma\n")
        for name, arguments in {
            "fetch": {"ids": [hit["id"]]},
            "get_file": {"path": "a.md"},
            "list_files": {},
            "outline": {"path": "a.md"},
            "grep_corpus": {"pattern": "al.ha"},
            "corpus_status": {},
        }.items():
            result = client.call(name, **arguments)
            assert not result["isError"], result
        listed = client.ask("resources/list")["result"]["resources"]
        asked = {"uri": listed[0]["uri"]}
        assert client.ask("resources/read", asked)["result"]["contents"]
        assert client.ask("tools/list")["result"]["tools"]
        asked = {"name": "sum_up_document", "arguments": {"path": "a.md"}}
        assert client.ask("prompts/get", asked)["result"]["messages"]
        run()
        (hit,) = client.call("search_corpus", query="changed")["structuredContent"]["hits"]
        assert hit["path"] == "a.md"
