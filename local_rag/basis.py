"""What an ingest builds on: the live snapshot, or what is left of the store if that is damaged.

Leaves out what is built (`pipeline`), and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from local_rag.catalog import Catalog, FileRecord
from local_rag.errors import IndexUnreadable, NoIndexYet
from local_rag.regime import Regime
from local_rag.seals import check_catalog, check_vectors
from local_rag.snapshots import Snapshot, Store
from local_rag.vectors import VectorIndex

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Live:
    """The snapshot to build on with its files, and the regime that the store has.

    `damage` says what is wrong with the live snapshot; then this one is older, or none is whole.
    """

    snapshot: Snapshot | None = None
    files: Sequence[FileRecord] = ()
    regime: Regime | None = None
    damage: str = ""


def live_snapshot(store: Store) -> Live:
    """What is live now, or the newest older snapshot if that is damaged.

    Raises:
        IndexTooNew: a newer program wrote it.
    """
    try:
        return _whole(store.current())
    except NoIndexYet:
        return Live()
    except IndexUnreadable as error:
        log.warning("%s", error)
        damaged = Live(regime=store.last_regime(), damage=str(error))
    for name in store.finished():
        with suppress(IndexUnreadable):
            older = store.open(name)
            if older.manifest.regime == damaged.regime:
                return replace(_whole(older), damage=damaged.damage)
    return damaged


def _whole(snapshot: Snapshot) -> Live:
    manifest = snapshot.manifest
    check_catalog(snapshot.path, manifest.seals)
    with closing(Catalog.open(snapshot.catalog)) as catalog:
        files = catalog.files()
    if manifest.regime.dimension:
        check_vectors(snapshot.path, manifest.seals)
        with closing(VectorIndex.open(snapshot.chroma)) as vectors:
            vectors.verify(manifest.chunks)
    return Live(snapshot, files, manifest.regime)
