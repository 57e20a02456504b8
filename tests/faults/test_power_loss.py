"""What has reached the disk when, so that a loss of power at any moment leaves a whole index."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_rag.cli.ingest import main
from local_rag.index.checksums import Checksum
from local_rag.index.snapshots import Store
from tests.conftest import Corpus
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@dataclass(frozen=True)
class Synced:
    """A file or folder that was flushed, with what it held then."""

    path: Path
    content: object


@dataclass(frozen=True)
class Replaced:
    """A file that took another's place, and what lay in the store's snapshots then."""

    path: Path
    files: dict[Path, object]


class Recorder:
    """Every flush and every replacement that this process asks the system for, in their order."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[Synced | Replaced] = []
        self._store, self._fsync, self._replace = store, os.fsync, os.replace
        monkeypatch.setattr(os, "fsync", self._synced)
        monkeypatch.setattr(os, "replace", self._replaced)

    def _synced(self, handle: int) -> None:
        self._fsync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self.events.append(Synced(path, content(path)))

    def _replaced(self, source: Path, target: Path) -> None:
        folder = self._store.path / "snapshots"
        self.events.append(Replaced(Path(target), {p: content(p) for p in folder.rglob("*")}))
        self._replace(source, target)


def content(path: Path) -> object:
    """The names in a folder, or the checksum of a file."""
    return sorted(path.iterdir()) if path.is_dir() else Checksum.of(path)


def test_all_of_a_snapshot_is_on_the_disk_before_the_pointer_and_the_pointer_afterwards(
    corpus: Corpus, store: Store, ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(corpus)
    for version in range(2):
        scene.change(version)
        recorder = Recorder(store, monkeypatch)
        assert main([]) == 0
        pointer = store.path / "CURRENT"
        (moment,) = (i for i, e in enumerate(recorder.events) if e.path == pointer)
        moved = recorder.events[moment]
        before = {e.path: e.content for e in recorder.events[:moment] if isinstance(e, Synced)}
        after = {e.path for e in recorder.events[moment:] if isinstance(e, Synced)}
        new = store.current().path
        must = {p: c for p, c in moved.files.items() if p == new or new in p.parents}
        assert len(must) > 4
        assert must.items() <= before.items()
        assert {store.path, store.path / "snapshots"} <= set(before)
        assert any(p.name.startswith("CURRENT.") for p in before)
        assert after == {store.path}
        if version == 0:
            assert store.path.parent in before


def test_the_folders_above_a_new_store_are_on_the_disk_too(
    tmp_path: Path, corpus: Corpus, ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "a" / "b" / "store")
    monkeypatch.setenv("RAG_STORE_DIR", str(store.path))
    Scene(corpus).change(0)
    recorder = Recorder(store, monkeypatch)
    assert main([]) == 0
    synced = {event.path for event in recorder.events if isinstance(event, Synced)}
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b", store.path} <= synced
