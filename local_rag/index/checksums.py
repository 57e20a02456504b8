"""Checksums of a snapshot's files, so that damage is detected before a file is used.

Chroma trusts its HNSW files: a truncated header crashes the process, and zeroed vectors silently
give wrong neighbours. So every file has its size and a CRC-32 in the manifest (against accidents,
at 3 GB/s; not against an attacker). Two kinds have none, because Chroma writes to them whenever it
opens them: `chroma.sqlite3`, which SQLite checks itself; and the HNSW files of a collection with
under 1,000 changes, which Chroma recreates from `chroma.sqlite3` without reading them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_rag.errors import IndexUnreadable

NOT_SUMMED = frozenset({"manifest.json", "chroma.sqlite3"})
DATABASE = "chroma.sqlite3"
PERSISTED = "index_metadata.pickle"  # in an HNSW folder that Chroma reads and does not write
BLOCK_BYTES = 1 << 20
REPAIR = "Run ingest.py to repair it."


@dataclass(frozen=True)
class Checksum:
    """A file's size in bytes and CRC-32."""

    size: int
    crc: int

    @classmethod
    def of(cls, path: Path) -> Checksum:
        """The checksum of the file as it is now. Raises OSError if it cannot be read."""
        size = crc = 0
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                size, crc = size + len(block), zlib.crc32(block, crc)
        return cls(size, crc)


Checksums = Mapping[str, Checksum]
"""By path from the snapshot's folder, with `/`."""


def checksums_of(folder: Path) -> dict[str, Checksum]:
    """The checksums of all files of a snapshot that never change."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name not in NOT_SUMMED)
    lasting = (p for p in files if p.parent == folder or (p.parent / PERSISTED).is_file())
    return {path.relative_to(folder).as_posix(): Checksum.of(path) for path in sorted(lasting)}


def checksums_from_json(values: dict[str, Any]) -> dict[str, Checksum]:
    """The checksums that `dataclasses.asdict` wrote."""
    return {name: Checksum(**checksum) for name, checksum in values.items()}


def check_catalog(folder: Path, checksums: Checksums) -> None:
    """Checks the catalog's file.

    Raises:
        IndexUnreadable: it differs from what was published.
    """
    _check(folder, {name: checksum for name, checksum in checksums.items() if "/" not in name})


def check_vectors(folder: Path, checksums: Checksums) -> None:
    """Checks the files of the vector collection, before Chroma opens them.

    Raises:
        IndexUnreadable: they differ from what was published.
    """
    check_vector_files(folder, checksums)
    check_database(folder / "chroma" / DATABASE)


def check_vector_files(folder: Path, checksums: Checksums) -> None:
    """Checks the collection's files that Chroma never writes. Raises as `check_vectors` does."""
    _check(folder, {name: checksum for name, checksum in checksums.items() if "/" in name})


def _check(folder: Path, checksums: Checksums) -> None:
    for name, checksum in checksums.items():
        path = folder / name
        try:
            sound = path.stat().st_size == checksum.size and Checksum.of(path) == checksum
        except OSError as error:
            raise _damaged(path.name, error.strerror or "unreadable") from error
        if not sound:
            raise _damaged(path.name, "differs from what was written")


def check_database(path: Path) -> None:
    """Lets SQLite check Chroma's database.

    Raises:
        IndexUnreadable: it is missing or damaged.
    """
    if not path.is_file():
        raise _damaged(path.name, "missing")
    try:
        uri = f"{path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        raise _damaged(path.name, str(error)) from error
    if answer != "ok":
        raise _damaged(path.name, str(answer).splitlines()[0])


def _damaged(name: str, how: str) -> IndexUnreadable:
    return IndexUnreadable(f"The index is damaged ({name}: {how}).", REPAIR)
