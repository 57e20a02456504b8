"""Writes the catalog of a draft: creates or copies it, and changes it file by file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from local_rag.chunking.chunks import Chunk
from local_rag.chunking.table_of_contents import table_of_contents
from local_rag.corpus.scan import FileVersion
from local_rag.documents.document import Document
from local_rag.index.catalog import CHUNK_FIELDS, FILE_FIELDS, Catalog
from local_rag.ingest import keyword_writer

CATALOG_SCHEMA = """
CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    root TEXT NOT NULL, path TEXT NOT NULL, location TEXT NOT NULL,
    sha256 TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    title TEXT NOT NULL, language TEXT NOT NULL,
    lifecycle TEXT NOT NULL, superseded_by TEXT NOT NULL,
    tags TEXT NOT NULL, aliases TEXT NOT NULL,
    dated TEXT NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL,
    warnings TEXT NOT NULL,
    UNIQUE (root, path)
);
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    file INTEGER NOT NULL REFERENCES files (number),
    start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL,
    headings TEXT NOT NULL, text TEXT NOT NULL, key BLOB NOT NULL, label TEXT NOT NULL
);
CREATE TABLE headings (
    file INTEGER NOT NULL REFERENCES files (number),
    level INTEGER NOT NULL, heading TEXT NOT NULL,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL
);
CREATE INDEX headings_of_file ON headings (file, first_line);
CREATE INDEX files_by_lifecycle ON files (lifecycle);
CREATE INDEX files_by_language ON files (language);
CREATE INDEX chunks_of_file ON chunks (file, start);
CREATE INDEX chunks_of_key ON chunks (key);
"""


class CatalogWriter(Catalog):
    """An open catalog that no reader has seen yet."""

    @classmethod
    def create(cls, path: Path) -> CatalogWriter:
        """A new, empty catalog at `path`."""
        connection = sqlite3.connect(path)
        connection.executescript(CATALOG_SCHEMA + keyword_writer.KEYWORD_SCHEMA)
        return cls(connection)

    @classmethod
    def open_copy(cls, path: Path) -> CatalogWriter:
        """A copied catalog, to be changed and then published."""
        return cls(sqlite3.connect(path))

    def commit(self) -> None:
        """Makes the changes so far permanent."""
        self.connection.commit()

    def add_file(
        self,
        version: FileVersion,
        document: Document,
        chunks: Sequence[tuple[Chunk, bytes]],
        language: str = "",
    ) -> int:
        """Adds a file with its chunks and their cache keys. Returns its number."""
        number = self._insert_file(version, document, language)
        front = document.text[: document.body_start]
        title = " ".join([document.title or "", *document.aliases])
        for id_, (chunk, key) in zip(chunk_ids(version, chunks), chunks, strict=True):
            row = self.connection.execute(
                f"INSERT INTO chunks ({CHUNK_FIELDS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
                (None, id_, number, chunk.start, chunk.end, chunk.first_line, chunk.last_line,
                 json.dumps(chunk.headings, ensure_ascii=False), chunk.text, key, chunk.label),
            )  # fmt: skip
            fields = keyword_writer.IndexedFields(
                version.path, title, " ".join(chunk.headings), front, chunk.indexed
            )
            keyword_writer.add_chunk(self.connection, row.lastrowid or 0, fields, language)
            front, title = "", document.title or ""  # other names are the first chunk's alone
        self.connection.executemany(
            "INSERT INTO headings VALUES (?, ?, ?, ?, ?)",
            (
                (number, *astuple(entry))
                for entry in table_of_contents(document, (c for c, _ in chunks))
            ),
        )
        return number

    def _insert_file(self, version: FileVersion, document: Document, language: str) -> int:
        values = (
            version.root, version.path, version.location, version.sha256, version.size,
            version.mtime_ns, document.title or "", document.lifecycle, document.superseded_by,
            json.dumps(document.tags, ensure_ascii=False), document.dated or "",
            json.dumps(document.metadata, ensure_ascii=False),
            json.dumps(document.warnings, ensure_ascii=False), language, document.text,
            json.dumps(document.aliases, ensure_ascii=False),
        )  # fmt: skip
        fields = FILE_FIELDS.removeprefix("number, ") + ", text, aliases"
        marks = ",".join("?" * len(values))
        row = self.connection.execute(
            f"INSERT INTO files ({fields}) VALUES ({marks})",  # noqa: S608
            values,
        )
        return row.lastrowid or 0

    def remove_file(self, number: int) -> list[str]:
        """Removes a file and returns the ids of its chunks."""
        chunks = self.rows("SELECT number, id FROM chunks WHERE file = ?", (number,))
        keyword_writer.remove_chunks(self.connection, [row[0] for row in chunks])
        self.connection.execute("DELETE FROM chunks WHERE file = ?", (number,))
        self.connection.execute("DELETE FROM headings WHERE file = ?", (number,))
        self.connection.execute("DELETE FROM files WHERE number = ?", (number,))
        return [row[1] for row in chunks]

    def set_lifecycle(self, number: int, lifecycle: str, superseded_by: str) -> None:
        """Marks a file without reading it again."""
        sql = "UPDATE files SET lifecycle = ?, superseded_by = ? WHERE number = ?"
        self.connection.execute(sql, (lifecycle, superseded_by, number))


def chunk_ids(version: FileVersion, chunks: Sequence[tuple[Chunk, bytes]]) -> list[str]:
    """An id for each chunk, 16 hex digits, that stays the same while the chunk's text does.

    Derived from root, path, text, and its occurrence number among equal chunks of the file.
    """
    seen: dict[str, int] = {}
    ids = []
    for chunk, _ in chunks:
        times = seen[chunk.text] = seen.get(chunk.text, -1) + 1
        parts = (version.root, version.path, chunk.text, str(times))
        ids.append(hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:16])
    return ids
