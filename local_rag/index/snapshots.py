"""A store folder as it is read: which snapshots it holds, which one is live.

A snapshot is never written to once `CURRENT` has named it, so a reader always sees a whole one.
`ingest.snapshot_writer` makes them.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local_rag.embedding.identity import EmbedderIdentity
from local_rag.errors import IndexUnreadable, NoIndexYet
from local_rag.index.checksums import REPAIR
from local_rag.index.manifest import Manifest

# File systems and backups keep folders of this name too: `snapshots/holiday` is never removed.
OWN_FOLDER = re.compile(r"\d{8}T\d{6,12}Z-[0-9a-f]{6}")
BUILD = "Run ingest.py to build it."


@dataclass(frozen=True)
class Snapshot:
    """A published snapshot: its folder and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def chroma(self) -> Path:
        """The folder of the vector collection; absent in a keyword-only store."""
        return self.path / "chroma"

    @property
    def catalog(self) -> Path:
        """The SQLite file of the catalog and the keyword index."""
        return self.path / "keywords.sqlite3"


class Store:
    """The store folder. Creates and changes nothing."""

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
                raise IndexUnreadable(f"{pointer} is missing.", REPAIR) from None
            raise NoIndexYet(f"There is no index yet in {self.path}.", BUILD) from None
        except (OSError, ValueError) as error:
            raise IndexUnreadable(f"{pointer}: {error}.", REPAIR) from error
        if not name or Path(name).name != name or not (self.path / "snapshots" / name).is_dir():
            raise IndexUnreadable(f"{pointer} does not name a snapshot.", REPAIR)
        return name

    def open(self, name: str) -> Snapshot:
        """The published snapshot of that name.

        Raises:
            IndexUnreadable: its manifest is missing, damaged or of a format no longer read.
            IndexTooNew: a newer program wrote it.
        """
        folder = self.path / "snapshots" / name
        try:
            manifest = Manifest.from_json((folder / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"The index's manifest cannot be read ({error})."
            raise IndexUnreadable(what, REPAIR) from error
        return Snapshot(folder, manifest)

    def finished(self) -> list[str]:
        """The names of all finished snapshots, newest first."""
        folders = reversed(self.folders())
        return [path.name for path in folders if (path / "manifest.json").exists()]

    def last_identity(self) -> EmbedderIdentity | None:
        """The embedder identity in the newest manifest, even if the rest is unreadable."""
        for name in self.finished():
            with suppress(OSError, ValueError, KeyError, TypeError):
                text = (self.path / "snapshots" / name / "manifest.json").read_bytes()
                return EmbedderIdentity.from_json(json.loads(text)["regime"])
        return None

    def current(self) -> Snapshot:
        """The live snapshot. Raises as `current_name` and `open` do."""
        return self.open(self.current_name())

    def folders(self) -> list[Path]:
        """The folders that ingest made, oldest first. Anything else there is somebody else's."""
        found = (self.path / "snapshots").glob("*")
        return sorted(path for path in found if OWN_FOLDER.fullmatch(path.name))

    def live_name(self) -> str:
        """The live snapshot's name; empty if it cannot be determined."""
        with suppress(NoIndexYet, IndexUnreadable):
            return self.current_name()
        return ""
