"""Looks through the live snapshot for anything that is not as it should be.

More than ingest does at each run: it compares every chunk of the catalogue with its vector, its
words, its file's text, and the file on disk where that is still what was indexed. Changes nothing.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from local_rag import keywords
from local_rag.catalog import Catalog, ChunkRecord, FileRecord
from local_rag.citations import Citations
from local_rag.errors import IndexUnreadable
from local_rag.lines import line_starts
from local_rag.seals import check_catalog, check_vectors
from local_rag.snapshots import Snapshot, Store
from local_rag.vectors import VectorIndex, vector_records

PAGE = 2000  # chunks whose vectors are in memory at once
NORM = 1e-3


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
        check_catalog(snapshot.path, snapshot.manifest.seals)
        with closing(Catalog.open(snapshot.catalog)) as catalog:
            found = [*_in_catalog(snapshot, catalog)]
            if snapshot.manifest.regime.dimension:
                found += _in_vectors(snapshot, catalog)
            citations = Citations(catalog, snapshot.manifest.roots)
            files = catalog.files()
            found += [wrong for file in files for wrong in citations.wrong(file)]
    except IndexUnreadable as error:
        return Verdict((str(error),))
    return Verdict(tuple(found), len(files), citations.compared)


def _in_catalog(snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    manifest = snapshot.manifest
    yield from _differ("files in the catalogue", catalog.count("files"), manifest.files)
    yield from _differ("chunks in the catalogue", catalog.count("chunks"), manifest.chunks)
    retired = catalog.count("chunks", "superseded")
    yield from _differ("superseded chunks", retired, manifest.superseded_chunks)
    words = keywords.count(catalog.connection)
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
    """What is wrong with where a chunk says that it stands in its file's text."""
    if text[chunk.start : chunk.end] != chunk.text:
        return "is not what its file has in its place"
    first, last = (bisect.bisect_right(starts, at) for at in (chunk.start, chunk.end - 1))
    if (first, last) != (chunk.first_line, chunk.last_line):
        return f"has lines {chunk.first_line}-{chunk.last_line} and stands in {first}-{last}"
    return ""


def _in_vectors(snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    check_vectors(snapshot.path, snapshot.manifest.seals)
    with closing(VectorIndex.open(snapshot.chroma)) as vectors:
        vectors.verify(snapshot.manifest.chunks)
        dimension = snapshot.manifest.regime.dimension
        for file in catalog.files():
            yield from _in_file(catalog, vectors, file, dimension)


def _in_file(
    catalog: Catalog, vectors: VectorIndex, file: FileRecord, dimension: int
) -> Iterator[str]:
    records = vector_records(file, catalog.chunks_of(file.number))
    for start in range(0, len(records), PAGE):
        page = records[start : start + PAGE]
        stored = vectors.records([record.id for record in page])
        for record in page:
            name = f"{file.root}:{file.path}: chunk {record.id}"
            if record.id not in stored:
                yield f"{name} has no vector"
                continue
            vector, metadata = stored[record.id]
            if vector.shape != (dimension,) or abs(np.linalg.norm(vector) - 1) > NORM:
                yield f"{name} has a vector that is not of length 1"
            if metadata != record.metadata():
                yield f"{name} is filed with its vector as something else"


def _differ(what: str, found: int, expected: int) -> Iterator[str]:
    if found != expected:
        yield f"{found} {what}, {expected} in the manifest"
