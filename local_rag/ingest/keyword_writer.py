"""Writes the keyword index of a snapshot: SQLite FTS5 over the chunks' terms, ranked by BM25.

FTS5 never sees people's text, only terms made from it, and those only as quoted strings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import chain

from local_rag.text.tokenizer import words

# The terms are ready-made, so the tokenizer must only split at blanks. `exact` holds the
# exact terms of all the other columns, which hold stems.
KEYWORD_SCHEMA = r"""
CREATE VIRTUAL TABLE words USING fts5 (
    path, title, headings, front, body, exact, tokenize = "ascii tokenchars '_-.:/\@,#+'"
);
"""


@dataclass(frozen=True)
class IndexedFields:
    """What is indexed of a chunk. `front` is the front matter, in a file's first chunk only."""

    path: str
    title: str
    headings: str
    front: str
    body: str


def add_chunk(
    connection: sqlite3.Connection, number: int, fields: IndexedFields, language: str
) -> None:
    """Indexes a chunk of a document written in `language` under its number."""
    columns = [list(words(text, language)) for text in astuple(fields)]
    stems = [" ".join(stem for word in column for stem in word.stems) for column in columns]
    exact = " ".join(term for word in chain(*columns) for term in word.exact)
    connection.execute(
        "INSERT INTO words (rowid, path, title, headings, front, body, exact)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, *stems, exact),
    )


def remove_chunks(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Removes chunks from the index."""
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(n,) for n in numbers])
