"""Looks through the live snapshot for anything that is not as it should be.

More than ingest does at each run: it compares every chunk of the catalog with its vector, its
words, its file's text, and the file on disk where that is still what was indexed. Changes nothing.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from local_rag.corpus.safe_open import read_inside
from local_rag.documents.formats.registry import TEXT, format_of
from local_rag.embedding.base import NORM_TOLERANCE
from local_rag.errors import IndexUnreadable, PathRefused
from local_rag.index import keyword_index
from local_rag.index.catalog import Catalog, ChunkRecord, FileRecord
from local_rag.index.checksums import check_catalog, check_vectors
from local_rag.index.manifest import RootState
from local_rag.index.snapshots import Snapshot, Store
from local_rag.index.vector_index import VectorIndex, vector_records
from local_rag.text.encoding import NotText, decode
from local_rag.text.lines import line_starts

PAGE_CHUNKS = 2000  # chunks whose vectors are in memory at once


@dataclass(frozen=True)
class Verdict:
    """What is wrong with the live snapshot, a line each; nothing if it is whole.

    `compared` of its `files` are on disk what was indexed, so that their lines could be compared.
    """

    findings: tuple[str, ...]
    files: int = 0
    compared: int = 0


def verify(store: Store) -> Verdict:
    """Looks through the live snapshot.

    Raises:
        NoIndexYet: there is none.
        IndexTooNew: a newer program wrote it.
    """
    try:
        snapshot = store.current()
        check_catalog(snapshot.path, snapshot.manifest.checksums)
        with closing(Catalog.open(snapshot.catalog)) as catalog:
            found = [*_in_catalog(snapshot, catalog)]
            if snapshot.manifest.identity.dimension:
                found += _in_vectors(snapshot, catalog)
            citations = Citations(catalog, snapshot.manifest.roots)
            files = catalog.files()
            found += [wrong for file in files for wrong in citations.wrong(file)]
    except IndexUnreadable as error:
        return Verdict((str(error),))
    return Verdict(tuple(found), len(files), citations.compared)


def _in_catalog(snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    manifest = snapshot.manifest
    yield from _differ("files in the catalog", catalog.count("files"), manifest.files)
    yield from _differ("chunks in the catalog", catalog.count("chunks"), manifest.chunks)
    retired = catalog.count("chunks", "superseded")
    yield from _differ("superseded chunks", retired, manifest.superseded_chunks)
    words = keyword_index.count_chunks(catalog.connection)
    yield from _differ("chunks in the word index", words, manifest.chunks)
    lost = "SELECT id FROM chunks WHERE number NOT IN (SELECT id FROM words_docsize)"
    yield from (f"chunk {id_} is not in the word index" for (id_,) in catalog.rows(lost))
    roots = {root.name for root in manifest.roots}
    for file in catalog.files():
        if file.root not in roots:
            yield f"{file.root}:{file.path}: its root is not in the manifest"
        text = catalog.text(file.number)
        starts = line_starts(text)
        for chunk in catalog.chunks_of(file.number):
            if wrong := _wrong_place(chunk, text, starts):
                yield f"{file.root}:{file.path}: chunk {chunk.id} {wrong}"


def _wrong_place(chunk: ChunkRecord, text: str, starts: Sequence[int]) -> str:
    """What is wrong with a chunk's position in its file's text."""
    if text[chunk.start : chunk.end] != chunk.text:
        return "text differs from its file at that position"
    first, last = (bisect.bisect_right(starts, at) for at in (chunk.start, chunk.end - 1))
    if (first, last) != (chunk.first_line, chunk.last_line):
        return f"says lines {chunk.first_line}-{chunk.last_line}, is at {first}-{last}"
    return ""


def _in_vectors(snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    check_vectors(snapshot.path, snapshot.manifest.checksums)
    with closing(VectorIndex.open(snapshot.chroma)) as vectors:
        vectors.verify(snapshot.manifest.chunks)
        dimension = snapshot.manifest.identity.dimension
        for file in catalog.files():
            yield from _in_file(catalog, vectors, file, dimension)


def _in_file(
    catalog: Catalog, vectors: VectorIndex, file: FileRecord, dimension: int
) -> Iterator[str]:
    records = vector_records(file, catalog.chunks_of(file.number))
    for start in range(0, len(records), PAGE_CHUNKS):
        page = records[start : start + PAGE_CHUNKS]
        stored = vectors.records([record.id for record in page])
        for record in page:
            name = f"{file.root}:{file.path}: chunk {record.id}"
            if record.id not in stored:
                yield f"{name} has no vector"
                continue
            vector, metadata = stored[record.id]
            if vector.shape != (dimension,) or abs(np.linalg.norm(vector) - 1) > NORM_TOLERANCE:
                yield f"{name} has a vector that is not of length 1"
            if metadata != record.metadata():
                yield f"{name} metadata in Chroma differs from the catalog"


def _differ(what: str, found: int, expected: int) -> Iterator[str]:
    if found != expected:
        yield f"{found} {what}, {expected} in the manifest"


class Citations:
    """Compares files one by one; `compared` counts those that could be compared."""

    def __init__(self, catalog: Catalog, roots: tuple[RootState, ...]) -> None:
        self.compared = 0
        self._catalog = catalog
        self._roots = {root.name: Path(root.path) for root in roots}

    def wrong(self, file: FileRecord) -> Iterator[str]:
        """Where the index differs from a file, one line each."""
        data = self._as_indexed(file)
        if data is None:
            return
        self.compared += 1
        name = f"{file.root}:{file.path}"
        try:
            lines = decode(data)[0].split("\n")
        except NotText:
            yield f"{name}: the file is not text"
            return
        if self._catalog.text(file.number).split("\n") != lines:
            yield f"{name}: the indexed text differs from the file"
        for chunk in self._catalog.chunks_of(file.number):
            cited = "\n".join(lines[chunk.first_line - 1 : chunk.last_line])
            if chunk.text not in cited:
                where = f"lines {chunk.first_line}-{chunk.last_line} of the file"
                yield f"{name}: chunk {chunk.id} is not in {where}"

    def _as_indexed(self, file: FileRecord) -> bytes | None:
        """The file's bytes, if they are its text and unchanged since they were indexed."""
        root = self._roots.get(file.root)
        if root is None or (format_of(file.path) or TEXT).module:
            return None
        try:
            data = read_inside(root, Path(file.location), file.size).data
        except (OSError, ValueError, PathRefused):  # it has changed since
            return None
        return data if hashlib.sha256(data).hexdigest() == file.sha256 else None
