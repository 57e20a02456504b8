"""What an ingest builds on: the live snapshot, or what is left of the store if that is damaged.

Leaves out what is built (`pipeline`), and changes nothing.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.embedding.identity import EmbedderIdentity
from local_rag.errors import IndexUnreadable, NoIndexYet
from local_rag.index.catalog import Catalog, CatalogEntry
from local_rag.index.checksums import (
    DATABASE,
    Checksum,
    check_catalog,
    check_database,
    check_vector_files,
)
from local_rag.index.snapshots import Snapshot, Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BaseSnapshot:
    """The snapshot to build on with its files, and the identity that the store has.

    `damage` says what is wrong with the live snapshot; then this one is older, or none is whole.
    """

    snapshot: Snapshot | None = None
    files: Sequence[CatalogEntry] = ()
    identity: EmbedderIdentity | None = None
    damage: str = ""


def load_base_snapshot(store: Store, *, remember: bool = False) -> BaseSnapshot:
    """What is live now, or the newest older snapshot if that is damaged.

    With `remember` what Chroma found whole is kept in mind for the next run.

    Raises:
        IndexTooNew: a newer program wrote it.
    """
    try:
        return _whole(store, store.current(), remember=remember)
    except NoIndexYet:
        return BaseSnapshot()
    except IndexUnreadable as error:
        log.warning("%s", error)
        damaged = BaseSnapshot(identity=store.last_identity(), damage=str(error))
    for name in store.finished():
        with suppress(IndexUnreadable):
            older = store.open(name)
            if older.manifest.identity == damaged.identity:
                return replace(_whole(store, older, remember=False), damage=damaged.damage)
    return damaged


def _whole(store: Store, snapshot: Snapshot, *, remember: bool) -> BaseSnapshot:
    manifest = snapshot.manifest
    check_catalog(snapshot.path, manifest.checksums)
    with closing(Catalog.open(snapshot.catalog)) as catalog:
        files = catalog.entries()
    if manifest.identity.dimension:
        check_vector_files(snapshot.path, manifest.checksums)
        _check_collection(store, snapshot, remember=remember)
    return BaseSnapshot(snapshot, files, manifest.identity)


def _check_collection(store: Store, snapshot: Snapshot, *, remember: bool) -> None:
    """Has Chroma look at the collection, unless its database is still what Chroma found whole.

    Only Chroma knows whether it can use what is in its database, and takes over a second to say
    so. All its other files are summed.
    """
    database, proof = snapshot.chroma / DATABASE, DatabaseProof(store.path)
    if proof.covers(snapshot.path.name, database):
        return
    check_database(database)
    from local_rag.index.vector_index import VectorIndex

    with closing(VectorIndex.open(snapshot.chroma)) as vectors:
        vectors.verify(snapshot.manifest.chunks)
    if remember:
        proof.keep(snapshot.path.name, database)


PROOF_FILE = "proof.json"


class DatabaseProof:
    """The store's proof, if it has one."""

    def __init__(self, store: Path) -> None:
        self._path = store / PROOF_FILE

    def covers(self, snapshot: str, database: Path) -> bool:
        """Whether the database of the snapshot of that name is what was found whole."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            checksum = Checksum(kept["size"], kept["crc"])
            return kept["snapshot"] == snapshot and Checksum.of(database) == checksum
        return False

    def keep(self, snapshot: str, database: Path) -> None:
        """Notes that it was found whole as it is now."""
        checksum = Checksum.of(database)
        text = json.dumps({"snapshot": snapshot, "size": checksum.size, "crc": checksum.crc})
        part = self._path.with_suffix(".part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                       encoding="utf-8") as file:  # fmt: skip
            file.write(text)
        part.replace(self._path)
