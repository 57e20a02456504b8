"""The catalog of one snapshot as it is read: files with their headings and texts, and chunks.

A published catalog is opened immutable; several threads may read it. The same SQLite file holds
the keyword index (`keyword_index`).
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from local_rag.chunking.table_of_contents import HeadingRecord
from local_rag.errors import IndexOutdated, IndexUnreadable

FILE_FIELDS = ("number, root, path, location, sha256, size, mtime_ns, title, lifecycle,"
               " superseded_by, tags, dated, metadata, warnings, language")  # fmt: skip
_FILE_NAMES = tuple(FILE_FIELDS.replace(" ", "").split(","))
CHUNK_FIELDS = 'number, id, file, start, "end", first_line, last_line, headings, text, key, label'
MOST_VARIABLES = 500  # SQL variables a statement; older SQLite takes 999


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


class CatalogEntry(NamedTuple):
    """What a plan needs of an indexed file; `remarks` are its warnings as JSON, and `keys` is its
    metadata as JSON if it has any warnings.

    A named tuple, because a run without changes makes 30,000 of them and little else.
    """

    number: int
    root: str
    path: str
    location: str
    sha256: str
    lifecycle: str
    remarks: str
    keys: str

    @property
    def warnings(self) -> list[str]:
        """What was odd about the file when it was indexed."""
        return json.loads(self.remarks) if self.remarks != "[]" else []


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


class Catalog:
    """An open catalog."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Catalog:
        """A published catalog, read-only.

        Raises:
            IndexUnreadable: the file is missing or not a catalog.
        """
        with _translated():
            uri = f"{path.as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            connection.execute("SELECT count(*) FROM files").fetchone()
        return cls(connection)

    def close(self) -> None:
        """Releases the file."""
        self.connection.close()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query. Raises `IndexUnreadable` if the file is damaged."""
        with self._lock, _translated():
            return self.connection.execute(sql, values).fetchall()

    def files(self) -> list[FileRecord]:
        """Every file, by root and path."""
        rows = self.rows(f"SELECT {FILE_FIELDS} FROM files ORDER BY root, path")  # noqa: S608
        return [_file(row) for row in rows]

    def entries(self) -> list[CatalogEntry]:
        """Every file in the order in which they were added, as a plan needs it."""
        keys = "CASE warnings WHEN '[]' THEN '{}' ELSE metadata END"
        sql = "SELECT number, root, path, location, sha256, lifecycle, warnings, {keys} FROM files"
        sql = sql.format(keys=keys)
        return list(map(CatalogEntry._make, self.rows(sql + " ORDER BY number")))

    def names(self) -> list[tuple[str, str]]:
        """Root and path of every file, in their order."""
        return self.rows("SELECT root, path FROM files ORDER BY root, path")

    def aliases(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Root, path and other names of every file that has some."""
        if not self.rows("SELECT 1 FROM pragma_table_info('files') WHERE name = 'aliases'"):
            return []  # format 3
        sql = "SELECT root, path, aliases FROM files WHERE aliases != '[]' ORDER BY root, path"
        return [(root, path, tuple(json.loads(names))) for root, path, names in self.rows(sql)]

    def file(self, root: str, path: str) -> FileRecord | None:
        """The file with exactly this root and path."""
        sql = f"SELECT {FILE_FIELDS} FROM files WHERE root = ? AND path = ?"  # noqa: S608
        rows = self.rows(sql, (root, path))
        return _file(rows[0]) if rows else None

    def files_by_number(self, numbers: Iterable[int]) -> dict[int, FileRecord]:
        """The files with these numbers."""
        sql = f"SELECT {FILE_FIELDS} FROM files WHERE number IN"  # noqa: S608
        return {row[0]: _file(row) for row in self._in(sql, list(numbers))}

    def text(self, number: int) -> str:
        """A file's whole text as it was indexed."""
        text: str = self.rows("SELECT text FROM files WHERE number = ?", (number,))[0][0]
        return text

    def chunks(self, ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """The chunks with these ids, as far as they exist."""
        sql = f"SELECT {CHUNK_FIELDS} FROM chunks WHERE id IN"  # noqa: S608
        return {row[1]: _chunk(row) for row in self._in(sql, list(ids))}

    def ids_by_key(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """By cache key, the id of a chunk with that key, for the keys that occur."""
        return dict(self._in("SELECT key, id FROM chunks WHERE key IN", list(keys)))

    def ordinals(self, files: Iterable[int]) -> dict[str, int]:
        """By chunk id, the chunk's place in its file, for all chunks of the files."""
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
        """A file's table of contents in order, from a line on.

        Raises:
            IndexOutdated: the index is of format 3, which had none.
        """
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'headings'"):  # format 3
            what = "An earlier version wrote this index; it has no tables of contents."
            raise IndexOutdated(what, "Run ingest.py, or read the document with get_file.")
        sql = (
            "SELECT level, heading, first_line, last_line FROM headings"
            " WHERE file = ? AND first_line >= ? ORDER BY first_line, rowid LIMIT ?"
        )
        return [HeadingRecord(*row) for row in self.rows(sql, (number, first_line, limit))]

    def chunk_count(self, number: int) -> int:
        """How many chunks a file has."""
        return int(self.rows("SELECT count(*) FROM chunks WHERE file = ?", (number,))[0][0])

    def count(self, table: str, lifecycle: str | None = None) -> int:
        """The number of `files` or `chunks`, of one lifecycle or of all."""
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

    def _in(self, sql: str, values: list[Any]) -> Iterator[Any]:
        for start in range(0, len(values), MOST_VARIABLES):
            page = values[start : start + MOST_VARIABLES]
            yield from self.rows(f"{sql} ({','.join('?' * len(page))})", page)


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
        what = f"The index's catalog cannot be read ({error})."
        raise IndexUnreadable(what, "Run ingest.py to repair the index.") from error
