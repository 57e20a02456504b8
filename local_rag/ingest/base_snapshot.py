"""What an ingest builds on: the live snapshot, or an older one if that is damaged."""

from __future__ import annotations

import json
import logging
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
from local_rag.index.manifest import FORMAT_VERSION
from local_rag.index.snapshots import Snapshot, Store
from local_rag.ingest.store_disk import replace_private

log = logging.getLogger(__name__)
PROOF_FILE = "proof.json"


@dataclass(frozen=True)
class BaseSnapshot:
    """The newest undamaged snapshot with its files, and the store's embedder identity.

    `damage` says what is wrong with the live snapshot; then this one is older, or there is none.
    """

    snapshot: Snapshot | None = None
    files: Sequence[CatalogEntry] = ()
    identity: EmbedderIdentity | None = None
    damage: str = ""

    @property
    def is_outdated(self) -> bool:
        """Whether it can be read but not built on, as an earlier version wrote it."""
        return self.snapshot is not None and self.snapshot.manifest.format < FORMAT_VERSION


def load_base_snapshot(store: Store, *, remember: bool = False) -> BaseSnapshot:
    """The live snapshot, or the newest older one if that is damaged.

    With `remember`, the next run need not have Chroma look at the same database again.

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
    """Has Chroma check the collection, unless its database is unchanged since the last check.

    Only Chroma knows whether it can use its database, and takes over a second to tell. All its
    other files have checksums.
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


class DatabaseProof:
    """Remembers for which bytes of the database Chroma found the collection intact."""

    def __init__(self, store: Path) -> None:
        self._path = store / PROOF_FILE

    def covers(self, snapshot: str, database: Path) -> bool:
        """Whether the database of the named snapshot is unchanged since it was found intact."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            checksum = Checksum(kept["size"], kept["crc"])
            return kept["snapshot"] == snapshot and Checksum.of(database) == checksum
        return False

    def keep(self, snapshot: str, database: Path) -> None:
        """Notes that it was found intact as it is now."""
        checksum = Checksum.of(database)
        text = json.dumps({"snapshot": snapshot, "size": checksum.size, "crc": checksum.crc})
        replace_private(self._path, text)
