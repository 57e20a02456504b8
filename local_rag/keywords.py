"""The word index of one snapshot: SQLite FTS5 over the chunks, ranked by BM25.

Text from people is only ever passed to FTS5 as quoted strings, never as its query syntax.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from local_rag.chunks import Chunk

SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5 (
    path, title, headings, body, tokenize = "unicode61 remove_diacritics 2"
);
"""
LONGEST_QUERY = 64  # words; a pasted page would make a query of thousands of terms


@dataclass(frozen=True)
class Match:
    """A chunk that has some of a query's words; a higher `bm25` is better."""

    id: str
    bm25: float


def add(connection: sqlite3.Connection, number: int, path: str, title: str, chunk: Chunk) -> None:
    """Indexes a chunk under its number."""
    headings = " ".join(chunk.headings)
    connection.execute(
        "INSERT INTO words (rowid, path, title, headings, body) VALUES (?, ?, ?, ?, ?)",
        (number, path, title, headings, chunk.indexed),
    )


def remove(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Takes chunks out of the index."""
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(n,) for n in numbers])


def count(connection: sqlite3.Connection) -> int:
    """How many chunks are indexed."""
    return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])


def fts_query(text: str) -> str:
    """An FTS5 expression that any word of `text` matches; empty if it has none."""
    words = dict.fromkeys(re.findall(r"\w+", text.lower()))
    return " OR ".join(f'"{word}"' for word in list(words)[:LONGEST_QUERY])


class Rows(Protocol):
    """What can run a query, such as an open catalogue."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query."""


def search(source: Rows, query: str, count: int) -> list[Match]:
    """Up to `count` chunks of documents in force, by descending BM25."""
    expression = fts_query(query)
    if not expression:
        return []
    rows = source.rows(
        "SELECT chunks.id, bm25(words, 1.0, 2.0, 1.5, 1.0) AS score FROM words"
        " JOIN chunks ON chunks.number = words.rowid JOIN files ON files.number = chunks.file"
        " WHERE words MATCH ? AND files.lifecycle != 'superseded' ORDER BY score LIMIT ?",
        (expression, count),
    )
    return [Match(id_, -score) for id_, score in rows]
