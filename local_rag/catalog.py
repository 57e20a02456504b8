"""The SQLite file of one snapshot: its files with their headings, its chunks, the word index.

A published catalogue is opened immutable and may be read from several threads. Leaves out
vectors, the word index (`keywords`), and any opinion about which chunk is best.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from local_rag import keywords
from local_rag.chunks import Chunk
from local_rag.documents import Document
from local_rag.errors import IndexUnreadable
from local_rag.vectors import VectorRecord

SCHEMA = """
CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    root TEXT NOT NULL, path TEXT NOT NULL, location TEXT NOT NULL,
    sha256 TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    title TEXT NOT NULL, language TEXT NOT NULL,
    lifecycle TEXT NOT NULL, superseded_by TEXT NOT NULL,
    tags TEXT NOT NULL, dated TEXT NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL,
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
FILE_FIELDS = ("number, root, path, location, sha256, size, mtime_ns, title, lifecycle,"
               " superseded_by, tags, dated, metadata, warnings, language")  # fmt: skip
_FILE_NAMES = tuple(FILE_FIELDS.replace(" ", "").split(","))
CHUNK_FIELDS = 'number, id, file, start, "end", first_line, last_line, headings, text, key, label'
MANY = 500  # SQL variables a statement; older SQLite takes 999


@dataclass(frozen=True)
class FileRecord:
    """An indexed file. `number` is stable from one snapshot to the next."""

    number: int
    root: str
    path: str
    location: str
    sha256: str
    size: int
    mtime_ns: int
    title: str
    lifecycle: str
    superseded_by: str
    tags: tuple[str, ...]
    dated: str
    metadata: dict[str, Any]
    warnings: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True)
class ChunkRecord:
    """An indexed chunk. `key` is its embedding's key in the cache, `label` its page or the like."""

    number: int
    id: str
    file: int
    start: int
    end: int
    first_line: int
    last_line: int
    headings: tuple[str, ...]
    text: str
    key: bytes
    label: str = ""


@dataclass(frozen=True)
class HeadingRecord:
    """A heading of a level from 1, and the lines from it to the next of its level or above."""

    level: int
    heading: str
    first_line: int
    last_line: int


@dataclass(frozen=True)
class Version:
    """Where a file lay and what it was when it was read."""

    root: str
    path: str
    location: str
    sha256: str
    size: int
    mtime_ns: int


class Catalog:
    """An open catalogue; writable only while its snapshot is a draft."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path) -> Catalog:
        """A new, empty catalogue at `path`."""
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA + keywords.SCHEMA)
        return cls(connection)

    @classmethod
    def open_draft(cls, path: Path) -> Catalog:
        """A copied catalogue, to be changed and then published."""
        return cls(sqlite3.connect(path))

    @classmethod
    def open(cls, path: Path) -> Catalog:
        """A published catalogue, read-only.

        Raises:
            IndexUnreadable: the file is missing or no catalogue.
        """
        with _translated():
            uri = f"{path.as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            connection.execute("SELECT count(*) FROM files").fetchone()
        return cls(connection)

    def close(self) -> None:
        """Releases the file."""
        self.connection.close()

    def commit(self) -> None:
        """Makes the changes so far permanent."""
        self.connection.commit()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query. Raises `IndexUnreadable` if the file is damaged."""
        with self._lock, _translated():
            return self.connection.execute(sql, values).fetchall()

    def files(self) -> list[FileRecord]:
        """Every file, by root and path."""
        rows = self.rows(f"SELECT {FILE_FIELDS} FROM files ORDER BY root, path")  # noqa: S608
        return [_file(row) for row in rows]

    def names(self) -> list[tuple[str, str]]:
        """Root and path of every file, in their order."""
        return self.rows("SELECT root, path FROM files ORDER BY root, path")

    def file(self, root: str, path: str) -> FileRecord | None:
        """The file with exactly this root and path."""
        sql = f"SELECT {FILE_FIELDS} FROM files WHERE root = ? AND path = ?"  # noqa: S608
        rows = self.rows(sql, (root, path))
        return _file(rows[0]) if rows else None

    def files_by_number(self, numbers: Iterable[int]) -> dict[int, FileRecord]:
        """The files of these numbers."""
        sql = f"SELECT {FILE_FIELDS} FROM files WHERE number IN"  # noqa: S608
        return {row[0]: _file(row) for row in self._in(sql, list(numbers))}

    def text(self, number: int) -> str:
        """A file's whole text as it was indexed."""
        text: str = self.rows("SELECT text FROM files WHERE number = ?", (number,))[0][0]
        return text

    def chunks(self, ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """The chunks of these ids, without those that do not exist."""
        sql = f"SELECT {CHUNK_FIELDS} FROM chunks WHERE id IN"  # noqa: S608
        return {row[1]: _chunk(row) for row in self._in(sql, list(ids))}

    def ids_by_key(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """For each cache key that some chunk has, the id of such a chunk."""
        return dict(self._in("SELECT key, id FROM chunks WHERE key IN", list(keys)))

    def ordinals(self, files: Iterable[int]) -> dict[str, int]:
        """For each chunk of the files its place in its own, by id."""
        sql = (
            "SELECT id, row_number() OVER (PARTITION BY file ORDER BY start) FROM chunks"
            " WHERE file IN"
        )
        return dict(self._in(sql, list(files)))

    def chunks_of(self, number: int) -> list[ChunkRecord]:
        """A file's chunks in order."""
        sql = f"SELECT {CHUNK_FIELDS} FROM chunks WHERE file = ? ORDER BY start"  # noqa: S608
        return [_chunk(row) for row in self.rows(sql, (number,))]

    def headings_of(self, number: int, first_line: int, limit: int) -> list[HeadingRecord]:
        """A file's table of contents in order, from a line on."""
        sql = (
            "SELECT level, heading, first_line, last_line FROM headings"
            " WHERE file = ? AND first_line >= ? ORDER BY first_line, rowid LIMIT ?"
        )
        return [HeadingRecord(*row) for row in self.rows(sql, (number, first_line, limit))]

    def chunk_count(self, number: int) -> int:
        """How many chunks a file has."""
        return int(self.rows("SELECT count(*) FROM chunks WHERE file = ?", (number,))[0][0])

    def count(self, table: str, lifecycle: str | None = None) -> int:
        """How many `files` or `chunks` there are, of one lifecycle or of all."""
        join = "" if table == "files" else "JOIN files ON files.number = chunks.file"
        sql = f"SELECT count(*) FROM {table} {join}"  # noqa: S608 - two fixed names
        if lifecycle is None:
            return int(self.rows(sql)[0][0])
        return int(self.rows(sql + " WHERE files.lifecycle = ?", (lifecycle,))[0][0])

    def chunk_counts(self) -> dict[int, int]:
        """For each file its number of chunks; none for a file without any."""
        return dict(self.rows("SELECT file, count(*) FROM chunks GROUP BY file"))

    def counts_by_root(self) -> dict[str, tuple[int, int]]:
        """For each root its number of files and of chunks."""
        rows = self.rows(
            "SELECT root, count(DISTINCT files.number), count(chunks.number) FROM files"
            " LEFT JOIN chunks ON chunks.file = files.number GROUP BY root"
        )
        return {root: (files, chunks) for root, files, chunks in rows}

    def add_file(
        self,
        version: Version,
        document: Document,
        chunks: Sequence[tuple[Chunk, bytes]],
        language: str = "",
    ) -> list[VectorRecord]:
        """Adds a file that is not in it, with its chunks and their cache keys."""
        from local_rag.contents import contents  # with a parser that no reader needs

        number = self._insert_file(version, document, language)
        front = document.text[: document.body_start]
        for id_, (chunk, key) in zip(chunk_ids(version, chunks), chunks, strict=True):
            row = self.connection.execute(
                f"INSERT INTO chunks ({CHUNK_FIELDS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
                (None, id_, number, chunk.start, chunk.end, chunk.first_line, chunk.last_line,
                 json.dumps(chunk.headings, ensure_ascii=False), chunk.text, key, chunk.label),
            )  # fmt: skip
            fields = keywords.Fields(
                version.path, document.title or "", " ".join(chunk.headings), front, chunk.indexed
            )
            keywords.add(self.connection, row.lastrowid or 0, fields, language)
            front = ""
        self.connection.executemany(
            "INSERT INTO headings VALUES (?, ?, ?, ?, ?)",
            ((number, *astuple(entry)) for entry in contents(document, (c for c, _ in chunks))),
        )
        return self.vector_records(self.files_by_number([number])[number])

    def _insert_file(self, version: Version, document: Document, language: str) -> int:
        values = (
            version.root, version.path, version.location, version.sha256, version.size,
            version.mtime_ns, document.title or "", document.lifecycle, document.superseded_by,
            json.dumps(document.tags, ensure_ascii=False), document.dated or "",
            json.dumps(document.metadata, ensure_ascii=False),
            json.dumps(document.warnings, ensure_ascii=False), language, document.text,
        )  # fmt: skip
        fields = FILE_FIELDS.removeprefix("number, ") + ", text"
        marks = ",".join("?" * len(values))
        row = self.connection.execute(
            f"INSERT INTO files ({fields}) VALUES ({marks})",  # noqa: S608
            values,
        )
        return row.lastrowid or 0

    def remove_file(self, number: int) -> list[str]:
        """Removes a file and answers its chunks' ids."""
        chunks = self.rows("SELECT number, id FROM chunks WHERE file = ?", (number,))
        keywords.remove(self.connection, [row[0] for row in chunks])
        self.connection.execute("DELETE FROM chunks WHERE file = ?", (number,))
        self.connection.execute("DELETE FROM headings WHERE file = ?", (number,))
        self.connection.execute("DELETE FROM files WHERE number = ?", (number,))
        return [row[1] for row in chunks]

    def set_lifecycle(self, number: int, lifecycle: str, superseded_by: str) -> list[VectorRecord]:
        """Marks a file without reading it anew; answers its chunks as the vectors need them."""
        sql = "UPDATE files SET lifecycle = ?, superseded_by = ? WHERE number = ?"
        self.connection.execute(sql, (lifecycle, superseded_by, number))
        return self.vector_records(self.files_by_number([number])[number])

    def vector_records(self, file: FileRecord) -> list[VectorRecord]:
        """A file's chunks as the vector collection holds them."""
        return [
            VectorRecord(c.id, file.number, file.root, file.path, file.lifecycle,
                         c.first_line, c.last_line)
            for c in self.chunks_of(file.number)
        ]  # fmt: skip

    def _in(self, sql: str, values: list[Any]) -> Iterator[Any]:
        for start in range(0, len(values), MANY):
            page = values[start : start + MANY]
            yield from self.rows(f"{sql} ({','.join('?' * len(page))})", page)


def chunk_ids(version: Version, chunks: Sequence[tuple[Chunk, bytes]]) -> list[str]:
    """An id for each chunk that stays while its text does: 16 hex digits.

    Made of root, path, text, and the how-manieth chunk of this text it is in its file.
    """
    seen: dict[str, int] = {}
    ids = []
    for chunk, _ in chunks:
        times = seen[chunk.text] = seen.get(chunk.text, -1) + 1
        parts = (version.root, version.path, chunk.text, str(times))
        ids.append(hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:16])
    return ids


def _file(row: tuple[Any, ...]) -> FileRecord:
    values = dict(zip(_FILE_NAMES, row, strict=True))
    # Most files have none of these, and a run that changes nothing reads 30,000 rows.
    values["tags"] = tuple(json.loads(values["tags"])) if values["tags"] != "[]" else ()
    values["metadata"] = json.loads(values["metadata"]) if values["metadata"] != "{}" else {}
    values["warnings"] = tuple(json.loads(values["warnings"])) if values["warnings"] != "[]" else ()
    return FileRecord(**values)


def _chunk(row: tuple[Any, ...]) -> ChunkRecord:
    values = dict(zip(CHUNK_FIELDS.replace('"', "").split(", "), row, strict=True))
    return ChunkRecord(**values | {"headings": tuple(json.loads(values["headings"]))})


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        what = f"The index's catalogue cannot be read ({error})."
        raise IndexUnreadable(what, "Run ingest.py to mend the index.") from error
