"""The embedding cache: what was ever embedded for this store, by key.

It makes a killed run resumable and a rebuild cheap, and may be deleted at any time. Leaves out
what a key is made of (`embedders.Passage.key`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from local_rag.embedders import Vector

UNUSED_DAYS = 30
PAGE = 500  # SQL variables a statement
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID
"""


class EmbeddingCache:
    """A SQLite file of float32 vectors. For the one process that holds the store's lock."""

    def __init__(self, path: Path) -> None:
        self._connection = _open(path)

    def close(self) -> None:
        """Releases the file."""
        self._connection.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Vector]:
        """The vectors of those of the keys that it has."""
        wanted, found = list(keys), {}
        for start in range(0, len(wanted), PAGE):
            page = wanted[start : start + PAGE]
            marks = ",".join("?" * len(page))
            sql = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608
            for key, blob in self._connection.execute(sql, page):
                found[key] = np.frombuffer(blob, dtype="<f4")
        self._mark_used(found)
        return found

    def put(self, vectors: dict[bytes, Vector]) -> None:
        """Keeps vectors at once, so that a kill in the next moment loses none of them."""
        now = int(time.time())
        rows = [(key, vector.astype("<f4").tobytes(), now) for key, vector in vectors.items()]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def prune(self) -> None:
        """Forgets what no ingest has asked for in `UNUSED_DAYS` days."""
        oldest = int(time.time()) - UNUSED_DAYS * 86_400
        with self._connection:
            self._connection.execute("DELETE FROM vectors WHERE used < ?", (oldest,))

    def _mark_used(self, keys: Iterable[bytes]) -> None:
        now = int(time.time())
        with self._connection:
            self._connection.executemany(
                "UPDATE vectors SET used = ? WHERE key = ? AND used < ?",
                [(now, key, now - 86_400) for key in keys],
            )


def _open(path: Path) -> sqlite3.Connection:
    """The cache's database; a damaged one is put aside, as all it costs is embedding again."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path)
    try:
        connection.execute(SCHEMA)
        connection.execute("SELECT key FROM vectors LIMIT 1").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        path.replace(path.with_suffix(".damaged"))
        connection = sqlite3.connect(path)
        connection.execute(SCHEMA)
    return connection
