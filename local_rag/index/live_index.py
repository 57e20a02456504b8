"""The live snapshot as a server holds it: opened on first use, swapped when replaced.

Every request sees one whole snapshot; a replaced one is closed when its last request is done.
Creates and changes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from local_rag.errors import IndexUnreadable, RagError
from local_rag.index.catalog import Catalog
from local_rag.index.checksums import REPAIR, check_catalog, check_vectors
from local_rag.index.snapshots import Snapshot, Store
from local_rag.index.vector_index import VectorIndex

OPEN_ATTEMPTS = 3  # a snapshot can be pruned between reading CURRENT and opening what it names
RETRY_SECONDS = 60.0  # seconds until a snapshot that could not be fully opened is tried again
OLDER = "{why} This answer is from the index of {created}."
FileMark = tuple[int, int, int] | None


@dataclass(frozen=True)
class OpenIndex:
    """An open snapshot. `vectors` is None if there are none or `damage` says why not.

    `notice` is what every answer must say first if this is not the live snapshot. `mark` shows
    whether anybody has written to the catalog since it was checked.
    """

    snapshot: Snapshot
    catalog: Catalog
    vectors: VectorIndex | None
    damage: str = ""
    notice: str = ""
    mark: FileMark = None

    @property
    def first_notices(self) -> tuple[str, ...]:
        """The notice, if there is one, for an answer to begin with."""
        return (self.notice,) if self.notice else ()

    @property
    def is_as_it_was(self) -> bool:
        """Whether the catalog is unchanged since it was checked.

        SQLite reads page by page and does not notice damage inside a long text. A deleted catalog
        counts as unchanged: whoever has it open still reads it.
        """
        return _mark(self.snapshot.catalog) in (None, self.mark)

    def close(self) -> None:
        """Releases the snapshot's files."""
        self.catalog.close()
        if self.vectors:
            self.vectors.close()


def open_index(snapshot: Snapshot, notice: str = "") -> OpenIndex:
    """Opens a snapshot's parts; damaged vectors leave keyword search standing.

    Raises:
        IndexUnreadable: the catalog is damaged.
    """
    mark = _mark(snapshot.catalog)
    check_catalog(snapshot.path, snapshot.manifest.checksums)
    catalog, vectors, damage = Catalog.open(snapshot.catalog), None, ""
    if snapshot.manifest.identity.dimension:
        try:
            vectors = _opened_vectors(snapshot)
        except IndexUnreadable as error:
            damage = str(error)
    return OpenIndex(snapshot, catalog, vectors, damage, notice, mark)


def _mark(path: Path) -> FileMark:
    """What changes with a file's content: inode, size, time; None if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _opened_vectors(snapshot: Snapshot) -> VectorIndex:
    """The vectors, fully loaded into memory by Chroma."""
    check_vectors(snapshot.path, snapshot.manifest.checksums)
    vectors = VectorIndex.open(snapshot.chroma)
    try:
        if vectors.count() != snapshot.manifest.chunks:
            raise IndexUnreadable("The vectors are incomplete.", REPAIR)
        vectors.load(snapshot.manifest.identity.dimension)
    except IndexUnreadable:
        vectors.close()
        raise
    return vectors


class _Lease:
    """An open index, the name in CURRENT that it represents, and how many requests use it."""

    def __init__(self, index: OpenIndex, name: str) -> None:
        self.index, self.name, self.users, self.retired = index, name, 0, False
        self._opened = time.monotonic()

    def stands_for(self, name: str) -> bool:
        """Whether the snapshot with that name need not be opened now."""
        whole = not (self.index.damage or self.index.notice)  # a full disk passes
        settled = whole or time.monotonic() < self._opened + RETRY_SECONDS
        return self.name == name and settled and self.index.is_as_it_was


class LiveIndex:
    """The live snapshot, shared by many threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._lease: _Lease | None = None

    @contextmanager
    def use(self) -> Iterator[OpenIndex]:
        """The live snapshot, open while the block runs.

        Raises:
            NoIndexYet: nothing was published yet.
            IndexUnreadable: neither the live snapshot nor an older one can be opened.
            IndexTooNew: a newer program wrote it.
        """
        with self._lock:
            lease = self._current()
            lease.users += 1
        try:
            yield lease.index
            if not lease.index.is_as_it_was:
                raise IndexUnreadable(
                    "The index changed while this request was reading it.", "Retry."
                )
        except IndexUnreadable:  # damaged while open: the next request reopens it
            with self._lock:
                if lease is self._lease:
                    self._retire()
            raise
        except RagError as error:
            if not lease.index.notice:
                raise
            # "No such document" would be untrue if the damaged index may have it.
            raise type(error)(str(error), lease.index.notice) from error
        finally:
            with self._lock:
                lease.users -= 1
                self._close_if_done(lease)

    def close(self) -> None:
        """Releases the open snapshot when nobody uses it any more."""
        with self._lock:
            self._retire()

    def _current(self) -> _Lease:
        for _ in range(OPEN_ATTEMPTS):
            name = ""  # where CURRENT is damaged
            try:
                name = self.store.current_name()
                if not (self._lease and self._lease.stands_for(name)):
                    self._replace(open_index(self.store.open(name)), name)
                break
            except IndexUnreadable as error:
                failure = error
        else:
            if not (self._lease and self._lease.stands_for(name)):
                self._replace(self._older(failure, name), name)
        assert self._lease
        return self._lease

    def _older(self, failure: IndexUnreadable, damaged: str) -> OpenIndex:
        """The newest intact snapshot, to answer from until an ingest repairs the store."""
        for name in self.store.finished():
            with suppress(IndexUnreadable):
                snapshot = self.store.open(name)
                if name != damaged:
                    notice = OLDER.format(why=failure, created=snapshot.manifest.created)
                    return open_index(snapshot, notice)
        raise failure

    def _replace(self, opened: OpenIndex, name: str) -> None:
        self._retire()
        self._lease = _Lease(opened, name)

    def _retire(self) -> None:
        if self._lease:
            self._lease.retired = True
            self._close_if_done(self._lease)
            self._lease = None

    def _close_if_done(self, lease: _Lease) -> None:
        if lease.retired and lease.users == 0:
            lease.index.close()
