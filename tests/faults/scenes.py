"""What the fault tests share: ingest as a process, a corpus with known answers, whole stores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from local_rag.basis import live_snapshot
from local_rag.errors import NoIndexYet
from local_rag.snapshots import Store
from tests.conftest import Corpus
from tests.test_server import RawClient

PROJECT = Path(__file__).resolve().parent.parent.parent
State = dict[str, str]
"""By path, the line of a document that tells its version."""


def python(*arguments: str, preexec: object = None) -> subprocess.CompletedProcess[str]:
    """Runs Python on the project with the environment's settings."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
        cwd=PROJECT,
        preexec_fn=preexec,  # type: ignore[call-overload]
    )


def ingest(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `ingest.py`."""
    return python("ingest.py", *arguments)


class Scene:
    """A corpus of numbered documents, each with a word of its own, and what it says now."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.state: State = {}

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


def answered(client: RawClient, numbers: range = range(20)) -> tuple[State, set[str]]:
    """What the server says about each document, and the notices that it gave."""
    state, notices = {}, set()
    for number in numbers:
        result = client.call("search_corpus", query=f"alpha{number}", limit=20)
        assert not result.get("isError"), result
        notices |= {n for n in result["structuredContent"]["notices"] if "is weak" not in n}
        for hit in result["structuredContent"]["hits"]:
            for line in hit["text"].splitlines():
                if line.startswith(f"alpha{number} "):
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
        assert live_snapshot(store).damage == ""
    folders = {path.name for path in (store.path / "snapshots").iterdir()}
    assert folders == set(store.finished())
    assert not list(store.path.glob("CURRENT.*"))
