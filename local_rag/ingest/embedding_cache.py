"""The embedding cache: every vector that was embedded for this store, by key.

It makes a killed run resumable and a rebuild cheap, and may be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from local_rag.embedding.base import NORM_TOLERANCE, Vector

T = TypeVar("T")
UNUSED_DAYS = 30
PAGE_KEYS = 500  # SQL variables a statement
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
CACHE_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID
"""


class EmbeddingCache:
    """A SQLite file of float32 vectors, used by the one process that holds the store's lock.

    A damaged file is put aside and replaced by an empty one; then texts are embedded again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = _open(path)

    def close(self) -> None:
        """Releases the file."""
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Vector]:
        """The vectors that it has for the keys. One that is not unit length is left out."""
        wanted, found = list(keys), {}
        for start in range(0, len(wanted), PAGE_KEYS):
            page = wanted[start : start + PAGE_KEYS]
            marks = ",".join("?" * len(page))
            sql = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608
            for key, blob in self._on_sound_file(lambda c: c.execute(sql, page).fetchall()):  # noqa: B023
                vector = np.frombuffer(blob[: len(blob) // 4 * 4], dtype="<f4")
                if abs(float(np.linalg.norm(vector)) - 1) <= NORM_TOLERANCE:
                    found[key] = vector
        self._mark_used(found)
        return found

    def put(self, vectors: dict[bytes, Vector]) -> None:
        """Stores vectors at once, so that a kill right after it loses none of them."""
        now = int(time.time())
        rows = [(key, vector.astype("<f4").tobytes(), now) for key, vector in vectors.items()]
        self._change("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def clear(self) -> None:
        """Forgets everything."""
        self._change("DELETE FROM vectors WHERE used >= ?", [(0,)])

    def prune(self) -> None:
        """Forgets what no ingest has used for `UNUSED_DAYS` days."""
        oldest = int(time.time()) - UNUSED_DAYS * 86_400
        self._change("DELETE FROM vectors WHERE used < ?", [(oldest,)])

    def _mark_used(self, keys: Iterable[bytes]) -> None:
        now = int(time.time())
        self._change(
            "UPDATE vectors SET used = ? WHERE key = ? AND used < ?",
            [(now, key, now - 86_400) for key in keys],
        )

    def _change(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        def change(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(sql, rows)

        self._on_sound_file(change)

    def _on_sound_file(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return action(self._connection)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in DAMAGED:
                raise
        self._connection.close()
        self._connection = _renewed(self._path)
        return action(self._connection)


def _open(path: Path) -> sqlite3.Connection:
    """Opens the cache. A file that is visibly damaged is put aside."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path)
    try:
        connection.execute(CACHE_SCHEMA)
        connection.execute("SELECT key FROM vectors LIMIT 1").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in DAMAGED | {sqlite3.SQLITE_ERROR}:
            raise  # a full disk, say
        return _renewed(path)
    return connection


def _renewed(path: Path) -> sqlite3.Connection:
    path.replace(path.with_suffix(".damaged"))
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path)
    connection.execute(CACHE_SCHEMA)
    return connection
