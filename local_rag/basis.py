"""What an ingest builds on: the live snapshot, or what is left of the store if that is damaged.

Leaves out what is built (`pipeline`), and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from local_rag.catalog import Catalog, Entry
from local_rag.errors import IndexUnreadable, NoIndexYet
from local_rag.proof import Proof
from local_rag.regime import Regime
from local_rag.seals import DATABASE, check_catalog, check_database, check_sealed_vectors
from local_rag.snapshots import Snapshot, Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Live:
    """The snapshot to build on with its files, and the regime that the store has.

    `damage` says what is wrong with the live snapshot; then this one is older, or none is whole.
    """

    snapshot: Snapshot | None = None
    files: Sequence[Entry] = ()
    regime: Regime | None = None
    damage: str = ""


def live_snapshot(store: Store, *, remember: bool = False) -> Live:
    """What is live now, or the newest older snapshot if that is damaged.

    With `remember` what Chroma found whole is kept in mind for the next run.

    Raises:
        IndexTooNew: a newer program wrote it.
    """
    try:
        return _whole(store, store.current(), remember=remember)
    except NoIndexYet:
        return Live()
    except IndexUnreadable as error:
        log.warning("%s", error)
        damaged = Live(regime=store.last_regime(), damage=str(error))
    for name in store.finished():
        with suppress(IndexUnreadable):
            older = store.open(name)
            if older.manifest.regime == damaged.regime:
                return replace(_whole(store, older, remember=False), damage=damaged.damage)
    return damaged


def _whole(store: Store, snapshot: Snapshot, *, remember: bool) -> Live:
    manifest = snapshot.manifest
    check_catalog(snapshot.path, manifest.seals)
    with closing(Catalog.open(snapshot.catalog)) as catalog:
        files = catalog.entries()
    if manifest.regime.dimension:
        check_sealed_vectors(snapshot.path, manifest.seals)
        _check_collection(store, snapshot, remember=remember)
    return Live(snapshot, files, manifest.regime)


def _check_collection(store: Store, snapshot: Snapshot, *, remember: bool) -> None:
    """Has Chroma look at the collection, unless its database is still what Chroma found whole.

    Only Chroma knows whether it can use what is in its database, and takes over a second to say
    so. All its other files are sealed.
    """
    database, proof = snapshot.chroma / DATABASE, Proof(store.path)
    if proof.covers(snapshot.path.name, database):
        return
    check_database(database)
    from local_rag.vectors import VectorIndex

    with closing(VectorIndex.open(snapshot.chroma)) as vectors:
        vectors.verify(snapshot.manifest.chunks)
    if remember:
        proof.keep(snapshot.path.name, database)
