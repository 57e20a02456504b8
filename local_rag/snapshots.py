"""Generations of the index on disk: lock, begin, publish, open, prune.

A snapshot is a folder that is never written to again once `CURRENT` has named it, so a reader
always sees one whole generation. Leaves out what is inside (`vectors`, `catalog`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from local_rag.errors import IndexUnreadable, IngestRunning, NoIndexYet, StoreUnwritable
from local_rag.manifest import Manifest
from local_rag.regime import Regime
from local_rag.seals import MEND, seals_of

log = logging.getLogger(__name__)

STAMP = "%Y%m%dT%H%M%S%fZ"
# File systems and backups keep folders of this name too: `snapshots/holiday` is never removed.
OWN_FOLDER = re.compile(r"\d{8}T\d{6,12}Z-[0-9a-f]{6}")
OWN_POINTER = re.compile(r"CURRENT\.[0-9a-f]{6}")
KEPT = 2  # snapshots kept beside the live one
GRACE = 60.0  # seconds after its publication in which a snapshot is never pruned
INGEST = "Run ingest.py to build it."


@dataclass(frozen=True)
class Snapshot:
    """A published generation: its folder and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def chroma(self) -> Path:
        """The folder of the vector collection; absent in a keyword-only store."""
        return self.path / "chroma"

    @property
    def catalog(self) -> Path:
        """The SQLite file of the catalogue and the keyword index."""
        return self.path / "keywords.sqlite3"


class Store:
    """The store folder. Reading methods create nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def cache(self) -> Path:
        """The embedding cache's file."""
        return self.path / "embeddings.sqlite3"

    def current_name(self) -> str:
        """The live snapshot's name.

        Raises:
            NoIndexYet: nothing was ever published here.
            IndexUnreadable: the pointer or what it names is damaged or missing.
        """
        pointer = self.path / "CURRENT"
        try:
            name = pointer.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            if self.finished():
                raise IndexUnreadable(f"{pointer} is missing.", MEND) from None
            raise NoIndexYet(f"There is no index yet in {self.path}.", INGEST) from None
        except (OSError, ValueError) as error:
            raise IndexUnreadable(f"{pointer}: {error}.", MEND) from error
        if not name or Path(name).name != name or not (self.path / "snapshots" / name).is_dir():
            raise IndexUnreadable(f"{pointer} names no snapshot.", MEND)
        return name

    def open(self, name: str) -> Snapshot:
        """The published snapshot of that name.

        Raises:
            IndexUnreadable: its manifest is missing, damaged or of an older format.
            IndexTooNew: a newer program wrote it.
        """
        folder = self.path / "snapshots" / name
        try:
            manifest = Manifest.from_json((folder / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"The index's manifest cannot be read ({error})."
            raise IndexUnreadable(what, MEND) from error
        return Snapshot(folder, manifest)

    def finished(self) -> list[str]:
        """The names of all snapshots that were written to the end, the newest first."""
        folders = reversed(self._folders())
        return [path.name for path in folders if (path / "manifest.json").exists()]

    def last_regime(self) -> Regime | None:
        """What the newest manifest says of its embedder, be the rest of it unreadable."""
        for name in self.finished():
            with suppress(OSError, ValueError, KeyError, TypeError):
                text = (self.path / "snapshots" / name / "manifest.json").read_bytes()
                return Regime.from_json(json.loads(text)["regime"])
        return None

    def current(self) -> Snapshot:
        """The live snapshot. Raises as `current_name` and `open` do."""
        return self.open(self.current_name())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the store for one ingest; creates the folder, for its owner alone.

        Raises:
            IngestRunning: another ingest holds it.
            StoreUnwritable: the folder cannot be created or written.
        """
        lock = FileLock(self.path / "ingest.lock", timeout=0, mode=0o600)
        try:
            make_folder(self.path)
            lock.acquire()
        except Timeout:
            what = f"Another ingest is running on {self.path}."
            raise IngestRunning(what, "Wait for it to finish.") from None
        except OSError as error:
            what = f"The store {self.path} cannot be written ({error.strerror})."
            raise StoreUnwritable(what, "Correct its permissions or RAG_STORE_DIR.") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self) -> Path:
        """A new folder for a snapshot to be published."""
        folder = self.path / "snapshots" / f"{self._next_stamp()}-{secrets.token_hex(3)}"
        (self.path / "snapshots").mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def publish(self, folder: Path, manifest: Manifest) -> Snapshot:
        """Makes `folder` the live snapshot in one step, after all of it has reached the disk."""
        manifest = replace(manifest, seals=seals_of(folder))
        _write(folder / "manifest.json", manifest.to_json())
        for path in [*folder.rglob("*"), folder, folder.parent, self.path]:
            _sync(path)
        pointer = self.path / f"CURRENT.{secrets.token_hex(3)}"
        _write(pointer, folder.name + "\n")
        _sync(pointer)
        log.info("publishing %s", folder.name)
        if (self.path / "CURRENT").is_dir():  # a file cannot replace a folder, whoever made it
            (self.path / "CURRENT").replace(self.path / f"damaged-{secrets.token_hex(3)}")
        pointer.replace(self.path / "CURRENT")
        _sync(self.path)
        log.info("published %s", folder.name)
        return Snapshot(folder, manifest)

    def discard(self, folder: Path) -> None:
        """Removes a draft that failed, unless it did so as the live snapshot."""
        if folder.name != self._live_name():
            remove(folder)

    def prune(self) -> None:
        """Removes drafts that were never published and snapshots that nobody can need any more.

        Call it under the lock alone: a running ingest's draft looks like an abandoned one.
        """
        for leftover in self.path.glob("CURRENT.*"):
            if OWN_POINTER.fullmatch(leftover.name):
                leftover.unlink(missing_ok=True)
        live = self._live_name()
        older = [name for name in self.finished() if name != live]
        kept = {live, *older[:KEPT], *(name for name in older if self._is_recent(name))}
        for folder in self._folders():
            if folder.name not in kept:
                remove(folder)

    def _folders(self) -> list[Path]:
        """The folders made here, the oldest first: what else lies there is somebody's own."""
        found = (self.path / "snapshots").glob("*")
        return sorted(path for path in found if OWN_FOLDER.fullmatch(path.name))

    def _live_name(self) -> str:
        with suppress(NoIndexYet, IndexUnreadable):
            return self.current_name()
        return ""

    def _is_recent(self, name: str) -> bool:
        """Whether it was published just now; after a clock was set back all would seem so."""
        age = time.time() - (self.path / "snapshots" / name).stat().st_mtime
        return abs(age) < GRACE

    def _next_stamp(self) -> str:
        """The time, or just after the newest snapshot's if the clock was set back: names sort."""
        now = datetime.now(UTC)
        for folder in reversed(self._folders()):
            with suppress(ValueError):
                newest = datetime.strptime(folder.name.partition("-")[0], STAMP).replace(tzinfo=UTC)
                return max(now, newest + timedelta(microseconds=1)).strftime(STAMP)
        return now.strftime(STAMP)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, so that they are there after a loss of power too."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in missing:
        _sync(path.parent)


def remove(folder: Path) -> None:
    """Removes a snapshot or a draft, its manifest first: half of one must not look whole."""
    log.info("removing %s", folder.name)
    with suppress(OSError):
        (folder / "manifest.json").unlink(missing_ok=True)
    log.debug("removing the files of %s", folder.name)
    shutil.rmtree(folder, ignore_errors=True)  # Windows: a reader may hold a file open


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                   encoding="utf-8", newline="\n") as file:  # fmt: skip
        file.write(text)


def _sync(path: Path) -> None:
    """Flushes a file or folder to the disk; folders cannot be opened on Windows."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
