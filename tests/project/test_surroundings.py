"""What lies around the programs decides nothing: the working folder, variables, the home folder."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from local_rag.documents.formats.converter import Converter
from local_rag.documents.formats.extract import Unconvertible
from local_rag.documents.formats.registry import format_of
from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus
from tests.fake_ollama import FakeOllama

# Each is read by some library when nobody stops it.
SETTINGS = {
    "ALLOW_RESET": "true",
    "ANONYMIZED_TELEMETRY": "true",
    "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
    "CHROMA_CLIENT_AUTH_CREDENTIALS": "token",
    "CHROMA_CLIENT_AUTH_PROVIDER": "chromadb.auth.token_authn.TokenAuthClientProvider",
    "CHROMA_MEMORY_LIMIT_BYTES": "1",
    "CHROMA_OTEL_GRANULARITY": "all",
    "CHROMA_SEGMENT_CACHE_POLICY": "LRU",
    "CHROMA_SERVER_HOST": "127.0.0.1",
    "CHROMA_SERVER_NOFILE": "99999999",
    "CHROMA_SYSDB_IMPL": "antigravity.Database",
    "IS_PERSISTENT": "false",
    "MIGRATIONS": "none",
    "MIGRATIONS_HASH_ALGORITHM": "sha256",
    "PERSIST_DIRECTORY": "./elsewhere",
    "TENANT_ID": "stranger",
}
BREAKING = {"CHROMA_DB_IMPL": "duckdb+parquet", "CHROMA_SERVER_HTTP_PORT": "", "MIGRATIONS": "odd"}
OTHERS = {
    "FASTMCP_HOST": "0.0.0.0",
    "FASTMCP_LOG_LEVEL": "nonsense",
    "HF_HOME": "./elsewhere",
    "ORT_DISABLE_TELEMETRY": "0",
    "OTEL_PROPAGATORS": "nonsense",
    "OTEL_PYTHON_CONTEXT": "nonsense",
    "OTEL_PYTHON_TRACER_PROVIDER": "nonsense",
    "TTY_COMPATIBLE": "1",
    "UNICODE_VERSION": "1.0.0",
}
JBIG2_PAGE = (
    b"<</Type /Catalog /Pages 2 0 R>>",
    b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
    b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources <</ProcSet []>> /Contents 4 0 R>>",
    b"<</Length 4 /Filter /JBIG2Decode>> stream\ntext\nendstream",
)  # a page whose own content says that it is a picture in that format
SHADOWS = ("chromadb", "json", "numpy", "pydantic_settings", "pypdf", "sitecustomize", "yaml")


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """A host that nobody may connect to."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.setblocking(False)
        yield listening


def was_called(stranger: socket.socket) -> bool:
    try:
        stranger.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def traps(folder: Path, dotenv: bytes) -> Path:
    """A working folder with everything that a library would take from one."""
    folder.mkdir()
    (folder / ".env").write_bytes(dotenv)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text("open('imported', 'w')\n", encoding="utf-8")
    for name in ("git", "git.exe"):
        (folder / name).write_text("#!/bin/sh\n: > executed\n", encoding="utf-8")
        (folder / name).chmod(0o700)
    (folder / "pyproject.toml").write_text("[tool.x]\nenv_file = 'x'\n", encoding="utf-8")
    return folder


def as_pdf(objects: tuple[bytes, ...]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj %s endobj\n" % (number, body)
    count = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, b"".join(places))
    trailer = b"trailer <</Root 1 0 R /Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (count, len(data))
    return data + table + trailer


def as_dotenv(variables: dict[str, str]) -> bytes:
    return "".join(f"{name}={value}\n" for name, value in variables.items()).encode()


def ingest(cwd: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT_DIR / "ingest.py")], cwd=cwd, env=os.environ | variables,
        capture_output=True, text=True, encoding="utf-8", timeout=100, check=False,
    )  # fmt: skip


def question(cwd: Path, variables: dict[str, str]) -> dict[str, Any]:
    """What a server started in `cwd` finds by meaning alone."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    search = {"name": "search_corpus", "arguments": {"query": "alpha"}}
    process = subprocess.Popen(
        [sys.executable, str(PROJECT_DIR / "server.py")], cwd=cwd, env=os.environ | variables,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    with process:
        assert process.stdin and process.stdout
        for number, method, params in ((1, "initialize", hello), (2, "tools/call", search)):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            answer: dict[str, Any] = json.loads(process.stdout.readline())
        process.stdin.close()
    return answer["result"]["structuredContent"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("place", ["variables", ".env"])
@pytest.mark.parametrize("values", ["misleading", "breaking"])
def test_the_vectors_go_nowhere_but_into_the_store(
    corpus: Corpus, ollama: FakeOllama, stranger: socket.socket, tmp_path: Path,
    place: str, values: str,
) -> None:  # fmt: skip
    corpus.write("a.md", "alpha\n")
    port = {"CHROMA_SERVER_HTTP_PORT": str(stranger.getsockname()[1])}
    chosen = SETTINGS | port if values == "misleading" else BREAKING
    cwd = traps(tmp_path / "cwd", as_dotenv(chosen) if place == ".env" else b"")
    before = sorted(path.name for path in cwd.iterdir())
    variables = OTHERS | (chosen if place == "variables" else {})
    done = ingest(cwd, variables)
    assert done.returncode == 0, done.stderr
    found = question(cwd, variables)
    assert [(hit["path"], hit["cosine"] > 0) for hit in found["hits"]] == [("a.md", True)]
    assert found["notices"] == []
    assert not was_called(stranger)
    assert sorted(path.name for path in cwd.iterdir()) == before


def test_a_dotenv_file_that_is_not_utf8_breaks_nothing(
    corpus: Corpus, ollama: FakeOllama, tmp_path: Path
) -> None:
    corpus.write("a.md", "alpha\n")
    cwd = traps(tmp_path / "cwd", "NAME=Müller\n".encode("cp1252"))
    assert ingest(cwd, {}).returncode == 0
    assert [hit["path"] for hit in question(cwd, {})["hits"]] == ["a.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="its trap is a shell script")
def test_a_document_cannot_have_a_program_on_the_path_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, program = tmp_path / "executed", tmp_path / "bin" / "jbig2dec"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n: > '{mark}'\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    kind = format_of("a.pdf")
    assert kind
    with closing(Converter(10_000)) as converter, suppress(Unconvertible):
        converter.convert(kind, as_pdf(JBIG2_PAGE))
    assert not mark.exists()


def test_the_built_in_model_leaves_nothing_in_the_home_folder(
    corpus: Corpus, tmp_path: Path
) -> None:
    corpus.write("a.md", "alpha\n")
    home = Path(os.environ["HOME"])
    home.mkdir()
    done = ingest(tmp_path, {"RAG_EMBEDDER": "builtin", "ORT_DISABLE_TELEMETRY": "0"})
    assert done.returncode == 0, done.stderr
    assert list(home.rglob("*")) == []
