"""Processes as real as any, which start in hundredths of a second.

Starting Python and importing Chroma takes 2 s, and the fault tests need a hundred processes that
can be killed, limited or crash alone. Here they are forked from one that has imported everything
and done nothing. Leaves out how `ingest.py` and `server.py` themselves start (`test_server`).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
FORKS = sys.platform == "linux"  # on a Mac libraries of the system do not survive a fork
CONTEXT: Any = multiprocessing.get_context("forkserver" if FORKS else "spawn")
IMPORTED = [
    "pytest", "chromadb", "chromadb.api.rust", "chromadb.api.segment", "local_rag.cli.ingest",
    "local_rag.server.app", "local_rag.tools.toolset", "local_rag.embedding.query_embedder",
    "local_rag.embedding.choice",
    "local_rag.index.live_index", "tests.faults.forked", "tests.faults.killed_ingest",
]  # fmt: skip
LONGEST = 100  # seconds that a process may take


@dataclass(frozen=True)
class Run:
    """What a process shall do: `work` answers its exit code."""

    work: Callable[..., int]
    arguments: Sequence[object] = ()
    file_limit: int = 0  # bytes, if any


def start_forking() -> None:
    """Makes the process that all others are forked from."""
    if FORKS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(PROJECT))
            CONTEXT.set_forkserver_preload(IMPORTED)
            from multiprocessing.forkserver import ensure_running

            ensure_running()


def finished(run: Run) -> subprocess.CompletedProcess[str]:
    """Runs it to its end, with what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = CONTEXT.Process(target=_to_files, args=(run, dict(os.environ), out, err))
        process.start()
        process.join(LONGEST)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"{run} did not end within {LONGEST} s")
        printed = [p.read_text("utf-8") if p.exists() else "" for p in (out, err)]
        return subprocess.CompletedProcess((), process.exitcode, *printed)


def _to_files(run: Run, environment: dict[str, str], out: Path, err: Path) -> None:
    for path, number in ((out, 1), (err, 2)):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(handle, number)
        os.close(handle)
    _become(run, environment)


def _become(run: Run, environment: dict[str, str]) -> None:
    """Makes this process look freshly started, and does the work in it."""
    os.environ.clear()
    os.environ.update(environment)
    os.umask(0o022)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    logging.getLogger().handlers.clear()
    if run.file_limit:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (run.file_limit, run.file_limit))
    code = run.work(*run.arguments)
    sys.stdout.flush()
    sys.exit(code)


class Piped:
    """A process with pipes to its standard input and output, as far like `Popen` as is needed."""

    def __init__(self, run: Run) -> None:
        inner_in, outer_in = CONTEXT.Pipe(duplex=False)
        outer_out, inner_out = CONTEXT.Pipe(duplex=False)
        arguments = (run, dict(os.environ), inner_in, inner_out)
        self._process = CONTEXT.Process(target=_to_pipes, args=arguments)
        self._process.start()
        inner_in.close()
        inner_out.close()
        self.stdin: IO[bytes] = _file_of(outer_in, "wb")
        self.stdout: IO[bytes] = _file_of(outer_out, "rb")
        self.pid: int = self._process.pid

    def wait(self, timeout: float = LONGEST) -> int | None:
        self._process.join(timeout)
        code: int | None = self._process.exitcode
        return code

    def kill(self) -> None:
        self._process.kill()


def _file_of(connection: Connection, mode: str) -> IO[bytes]:
    with connection:
        return os.fdopen(os.dup(connection.fileno()), mode)


def _to_pipes(
    run: Run, environment: dict[str, str], inner_in: Connection, inner_out: Connection
) -> None:
    for connection, number in ((inner_in, 0), (inner_out, 1)):
        os.dup2(connection.fileno(), number)
        connection.close()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    _become(run, environment)
