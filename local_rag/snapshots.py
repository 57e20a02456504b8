"""Generations of the index on disk: lock, begin, publish, open, prune.

A snapshot is a folder that is never written to again once `CURRENT` has named it, so a reader
always sees one whole generation. Leaves out what is inside (`vectors`, `catalog`).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from local_rag.embedders import Regime
from local_rag.errors import IndexUnreadable, IngestRunning, NoIndexYet, RagError

FORMAT = 2  # of a snapshot's files; a reader refuses any other
KEPT = 2  # snapshots kept beside the live one
GRACE = 60.0  # seconds after its publication in which a snapshot is never pruned
INGEST = "Run ingest.py to build it."


@dataclass(frozen=True)
class RootState:
    """A root as the snapshot saw it; `commit` is empty outside git."""

    name: str
    path: str
    commit: str = ""
    dirty: bool = False
    files: int = 0
    chunks: int = 0


@dataclass(frozen=True)
class Manifest:
    """What a snapshot says of itself. `pending` counts files that still wait for an embedding."""

    regime: Regime
    recipe: str
    roots: tuple[RootState, ...]
    files: int
    chunks: int
    superseded_chunks: int
    slots: int
    pending: int
    reference: tuple[float, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    created: str = ""

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Reads what `to_json` wrote. Raises ValueError, KeyError or TypeError on other text."""
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']}, this program reads {FORMAT}")
        values["regime"] = Regime.from_json(values["regime"])
        values["roots"] = tuple(RootState(**root) for root in values["roots"])
        values["reference"] = tuple(values["reference"])
        return cls(**values)

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


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
            IndexUnreadable: the pointer or what it names is damaged.
        """
        try:
            name = (self.path / "CURRENT").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise NoIndexYet(f"There is no index yet in {self.path}.", INGEST) from None
        except (OSError, ValueError) as error:
            raise IndexUnreadable(f"{self.path / 'CURRENT'}: {error}.", INGEST) from error
        if not name or Path(name).name != name or not (self.path / "snapshots" / name).is_dir():
            raise IndexUnreadable(f"{self.path / 'CURRENT'} names no snapshot.", INGEST)
        return name

    def open(self, name: str) -> Snapshot:
        """The published snapshot of that name.

        Raises:
            IndexUnreadable: its manifest is missing, damaged or of another format.
        """
        folder = self.path / "snapshots" / name
        try:
            manifest = Manifest.from_json((folder / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"The index's manifest cannot be read ({error})."
            raise IndexUnreadable(what, "Run ingest.py --rebuild.") from error
        return Snapshot(folder, manifest)

    def current(self) -> Snapshot:
        """The live snapshot. Raises as `current_name` and `open` do."""
        return self.open(self.current_name())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the store for one ingest; creates the folder, for its owner alone.

        Raises:
            IngestRunning: another ingest holds it.
            RagError: the folder cannot be created or written.
        """
        lock = FileLock(self.path / "ingest.lock", timeout=0, mode=0o600)
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock.acquire()
        except Timeout:
            what = f"Another ingest is running on {self.path}."
            raise IngestRunning(what, "Wait for it to finish.") from None
        except OSError as error:
            what = f"The store {self.path} cannot be written ({error.strerror})."
            raise RagError(what, "Correct its permissions or RAG_STORE_DIR.") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self) -> Path:
        """A new folder for a snapshot to be published."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = self.path / "snapshots" / f"{stamp}-{secrets.token_hex(3)}"
        (self.path / "snapshots").mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def publish(self, folder: Path, manifest: Manifest) -> Snapshot:
        """Makes `folder` the live snapshot in one step, after all of it has reached the disk."""
        _write(folder / "manifest.json", manifest.to_json())
        for path in [*folder.rglob("*"), folder, folder.parent]:
            _sync(path)
        pointer = self.path / f"CURRENT.{secrets.token_hex(3)}"
        _write(pointer, folder.name + "\n")
        _sync(pointer)
        pointer.replace(self.path / "CURRENT")
        _sync(self.path)
        return Snapshot(folder, manifest)

    def prune(self) -> None:
        """Removes drafts that were never published and snapshots that nobody can need any more.

        Call it under the lock alone: a running ingest's draft looks like an abandoned one.
        """
        for leftover in self.path.glob("CURRENT.*"):
            leftover.unlink(missing_ok=True)
        live = self._live_name()
        folders = sorted((self.path / "snapshots").glob("*"), reverse=True)
        published = [f for f in folders if (f / "manifest.json").is_file() and f.name != live]
        kept = {live, *(f.name for f in published[:KEPT])}
        kept |= {f.name for f in published if self._is_recent(f)}
        for folder in folders:
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)  # Windows: a reader may hold a file open

    def _live_name(self) -> str:
        with suppress(NoIndexYet, IndexUnreadable):
            return self.current_name()
        return ""

    def _is_recent(self, folder: Path) -> bool:
        return time.time() - folder.stat().st_mtime < GRACE


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
