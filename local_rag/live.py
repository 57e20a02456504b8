"""The live snapshot as a server holds it: opened when first asked, swapped when replaced.

Every request sees one whole snapshot; a replaced one is closed when its last request is done.
Creates and changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from local_rag.catalog import Catalog
from local_rag.errors import IndexUnreadable
from local_rag.snapshots import Snapshot, Store
from local_rag.vectors import VectorIndex

ATTEMPTS = 3  # a snapshot can be pruned between reading CURRENT and opening what it names


@dataclass(frozen=True)
class OpenIndex:
    """An open snapshot. `vectors` is None where there are none or `damage` says why not."""

    snapshot: Snapshot
    catalog: Catalog
    vectors: VectorIndex | None
    damage: str = ""

    def close(self) -> None:
        """Releases the snapshot's files."""
        self.catalog.close()
        if self.vectors:
            self.vectors.close()


def open_index(snapshot: Snapshot) -> OpenIndex:
    """Opens a snapshot's parts; unreadable vectors leave keyword search standing.

    Raises:
        IndexUnreadable: the catalogue cannot be read.
    """
    catalog = Catalog.open(snapshot.catalog)
    if not snapshot.manifest.regime.dimension:
        return OpenIndex(snapshot, catalog, None)
    try:
        vectors = VectorIndex.open(snapshot.chroma)
        if vectors.count() != snapshot.manifest.chunks:
            vectors.close()
            raise IndexUnreadable("The vectors are incomplete.", "Run ingest.py --rebuild.")
    except IndexUnreadable as error:
        return OpenIndex(snapshot, catalog, None, str(error))
    return OpenIndex(snapshot, catalog, vectors)


class _Lease:
    """An open index and how many requests are using it."""

    def __init__(self, index: OpenIndex) -> None:
        self.index, self.users, self.retired = index, 0, False


class LiveIndex:
    """Whatever snapshot is live, for many threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._lease: _Lease | None = None

    @contextmanager
    def use(self) -> Iterator[OpenIndex]:
        """The live snapshot, open for as long as the block lasts.

        Raises:
            NoIndexYet: nothing was published yet.
            IndexUnreadable: the live snapshot cannot be opened.
        """
        with self._lock:
            lease = self._current()
            lease.users += 1
        try:
            yield lease.index
        finally:
            with self._lock:
                lease.users -= 1
                self._close_if_done(lease)

    def close(self) -> None:
        """Releases the open snapshot once nobody uses it."""
        with self._lock:
            self._retire()

    def _current(self) -> _Lease:
        for attempt in range(ATTEMPTS):
            name = self.store.current_name()
            if self._lease and self._lease.index.snapshot.path.name == name:
                return self._lease
            try:
                opened = open_index(self.store.open(name))
            except IndexUnreadable:
                if attempt + 1 == ATTEMPTS:
                    raise
                continue
            self._retire()
            self._lease = _Lease(opened)
            return self._lease
        raise AssertionError("the last attempt returns or raises")

    def _retire(self) -> None:
        if self._lease:
            self._lease.retired = True
            self._close_if_done(self._lease)
            self._lease = None

    def _close_if_done(self, lease: _Lease) -> None:
        if lease.retired and lease.users == 0:
            lease.index.close()
