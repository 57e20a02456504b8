"""Writes snapshots into a store: lock, begin, publish, discard, prune.

A snapshot becomes visible in one step, once all of it has reached the disk.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from local_rag.errors import IngestRunning, StoreUnwritable
from local_rag.index.checksums import checksums_of
from local_rag.index.manifest import Manifest
from local_rag.index.snapshots import Snapshot, Store
from local_rag.ingest.store_disk import write_private

log = logging.getLogger(__name__)

STAMP = "%Y%m%dT%H%M%S%fZ"
OWN_POINTER = re.compile(r"CURRENT\.[0-9a-f]{6}")
OLDER_SNAPSHOTS = 2  # snapshots kept beside the live one
GRACE_SECONDS = 60.0  # seconds after its publication during which a snapshot is never pruned


class SnapshotWriter:
    """Writes into one store. Every method but `lock` is called under the lock."""

    def __init__(self, store: Store) -> None:
        self.store, self._path = store, store.path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the store for one ingest; creates the folder, for its owner alone.

        Raises:
            IngestRunning: another ingest holds it.
            StoreUnwritable: the folder cannot be created or written.
        """
        lock = FileLock(self._path / "ingest.lock", timeout=0, mode=0o600)
        try:
            make_folder(self._path)
            lock.acquire()
        except Timeout:
            what = f"Another ingest is running on {self._path}."
            raise IngestRunning(what, "Wait for it to finish.") from None
        except OSError as error:
            what = f"The store {self._path} cannot be written ({error.strerror})."
            remedy = "Make it writable, or set RAG_STORE_DIR to a folder that is."
            raise StoreUnwritable(what, remedy) from error
        try:
            yield
        finally:
            lock.release()

    def begin(self) -> Path:
        """A new folder for a snapshot to be published."""
        folder = self._path / "snapshots" / f"{self._next_stamp()}-{secrets.token_hex(3)}"
        (self._path / "snapshots").mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def publish(self, folder: Path, manifest: Manifest) -> Snapshot:
        """Makes `folder` the live snapshot in one step, after all of it has reached the disk."""
        manifest = replace(manifest, checksums=checksums_of(folder))
        write_private(folder / "manifest.json", manifest.to_json())
        for path in [*folder.rglob("*"), folder, folder.parent, self._path]:
            _sync(path)
        pointer = self._path / f"CURRENT.{secrets.token_hex(3)}"
        write_private(pointer, folder.name + "\n")
        _sync(pointer)
        log.info("publishing %s", folder.name)
        if (self._path / "CURRENT").is_dir():  # a file cannot replace a folder, whoever made it
            (self._path / "CURRENT").replace(self._path / f"damaged-{secrets.token_hex(3)}")
        pointer.replace(self._path / "CURRENT")
        _sync(self._path)
        log.info("published %s", folder.name)
        return Snapshot(folder, manifest)

    def discard(self, folder: Path) -> None:
        """Removes a draft that failed, unless it did so as the live snapshot."""
        if folder.name != self.store.live_name():
            remove_snapshot(folder)

    def prune(self) -> None:
        """Removes drafts that were never published, and snapshots that nobody needs any more.

        Call it only under the lock: a running ingest's draft looks like an abandoned one.
        """
        for leftover in self._path.glob("CURRENT.*"):
            if OWN_POINTER.fullmatch(leftover.name):
                leftover.unlink(missing_ok=True)
        live = self.store.live_name()
        older = [name for name in self.store.finished() if name != live]
        kept = {live, *older[:OLDER_SNAPSHOTS], *(name for name in older if self._is_recent(name))}
        for folder in self.store.folders():
            if folder.name not in kept:
                remove_snapshot(folder)

    def _is_recent(self, name: str) -> bool:
        """Whether it was published just now. Its time can be in the future: clocks are set back."""
        age = time.time() - (self._path / "snapshots" / name).stat().st_mtime
        return abs(age) < GRACE_SECONDS

    def _next_stamp(self) -> str:
        """The time, or just after the newest snapshot's if the clock was set back: names sort."""
        now = datetime.now(UTC)
        for folder in reversed(self.store.folders()):
            with suppress(ValueError):
                newest = datetime.strptime(folder.name.partition("-")[0], STAMP).replace(tzinfo=UTC)
                return max(now, newest + timedelta(microseconds=1)).strftime(STAMP)
        return now.strftime(STAMP)


def make_folder(folder: Path) -> None:
    """Creates a folder and its parents so that they survive a loss of power."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in missing:
        _sync(path.parent)


def remove_snapshot(folder: Path) -> None:
    """Removes a snapshot or draft, its manifest first: half of one must not look complete."""
    log.info("removing %s", folder.name)
    with suppress(OSError):
        (folder / "manifest.json").unlink(missing_ok=True)
    log.debug("removing the files of %s", folder.name)
    shutil.rmtree(folder, ignore_errors=True)  # Windows: a reader may hold a file open


def _sync(path: Path) -> None:
    """Flushes a file or folder to the disk; folders cannot be opened on Windows."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
