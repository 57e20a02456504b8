"""What the fault tests share: ingest as a process, a corpus with known answers, whole stores."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from local_rag.cli import ingest as commands
from local_rag.errors import NoIndexYet
from local_rag.index.snapshots import Store
from local_rag.ingest.base_snapshot import load_base_snapshot
from local_rag.server.start import serve
from tests.conftest import Corpus
from tests.faults.forked import Piped, Run, finished
from tests.faults.killed_ingest import killed_ingest
from tests.server.test_stdio import RawClient

State = dict[str, str]
"""By path, the line of a document that tells its version."""


def ingest(*arguments: str, file_limit: int = 0) -> subprocess.CompletedProcess[str]:
    """An ingest in a process of its own; `file_limit` is a quota, no file may grow beyond it."""
    return finished(Run(commands.main, (arguments,), file_limit))


def killed(step: str, number: int) -> subprocess.CompletedProcess[str]:
    """An ingest that is killed at the n-th line of its log with this message."""
    return finished(Run(killed_ingest, (step, number)))


@contextmanager
def server() -> Iterator[RawClient]:
    """A server in a process of its own; it must end by itself once nobody listens."""
    process = Piped(Run(_serve))
    try:
        yield RawClient(process)  # type: ignore[arg-type] # as much of a Popen as it needs
        process.stdin.close()
        assert process.wait(timeout=20) == 0
        assert process.stdout.read() == b""
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            pipe.close()


def _serve() -> int:
    serve()
    return 0


class Scene:
    """A corpus of numbered documents, each with a word of its own, and what it says now."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.state: State = {}
        self.before: State = {}

    def write(self, number: int, version: int) -> None:
        line = f"alpha{number} of version {version}"
        self.corpus.write(f"{number:02}.md", f"# Document {number}\n\n{line}\n")
        self.state[f"{number:02}.md"] = line

    def delete(self, number: int) -> None:
        (self.corpus.path / f"{number:02}.md").unlink()
        del self.state[f"{number:02}.md"]

    def change(self, version: int) -> None:
        """Edits some documents, deletes one and adds it again at the next change."""
        for number in range(20):
            if number % 3 == version % 3:
                self.write(number, version)
        if "00.md" in self.state:
            self.delete(0)


def answered(client: RawClient, numbers: range | None = None) -> tuple[State, set[str]]:
    """What the server says about all documents in one answer, and the notices that it gave.

    With `numbers` it is asked about each of these documents by itself.
    """
    queries = ["version"] if numbers is None else [f"alpha{number}" for number in numbers]
    state, notices = {}, set()
    start = "alpha" if numbers is None else ""
    for query in queries:
        result = client.call("search_corpus", query=query, limit=20)
        assert not result.get("isError"), result
        notices |= {n for n in result["structuredContent"]["notices"] if "is weak" not in n}
        for hit in result["structuredContent"]["hits"]:
            for line in hit["text"].splitlines():
                if line.startswith(start or f"{query} "):
                    state[hit["path"]] = line
    return state, notices


def age(store: Store) -> None:
    """Makes all snapshots older than the grace in which none is pruned."""
    for folder in (store.path / "snapshots").iterdir():
        with suppress(FileNotFoundError):
            os.utime(folder, (time.time() - 3600,) * 2)


def assert_whole(store: Store) -> None:
    """Every folder is a finished snapshot that can be opened, and nothing else lies about."""
    with suppress(NoIndexYet):
        assert load_base_snapshot(store).damage == ""
    folders = {path.name for path in (store.path / "snapshots").iterdir()}
    assert folders == set(store.finished())
    assert not list(store.path.glob("CURRENT.*"))
