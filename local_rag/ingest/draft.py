"""A snapshot being written: started from the live one, changed file by file, verified.

No reader sees it before it is published. The next ingest prunes an abandoned draft.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from local_rag.chunking.chunks import Chunk
from local_rag.corpus.scan import FileVersion
from local_rag.documents.document import Document
from local_rag.embedding.base import Vector
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.errors import IndexUnreadable
from local_rag.index import keyword_index
from local_rag.index.manifest import Counts
from local_rag.index.snapshots import Snapshot
from local_rag.index.vector_index import DATABASE, VectorIndex, VectorRecord, vector_records
from local_rag.ingest.catalog_writer import CatalogWriter
from local_rag.ingest.snapshot_writer import SnapshotWriter
from local_rag.ingest.vector_writer import VectorWriter

log = logging.getLogger(__name__)
BATCH_CHUNKS = 2000  # added to Chroma at once
FEW_CHUNKS = 500  # with fewer, deleted rows are not worth a refill


class Draft:
    """An open draft folder."""

    def __init__(
        self, folder: Path, catalog: CatalogWriter, vectors: VectorWriter | None, slots: int
    ):
        self.folder, self.catalog = folder, catalog
        self._vectors, self._slots = vectors, slots
        self._waiting: list[tuple[VectorRecord, Vector]] = []

    @classmethod
    def begin(
        cls, snapshots: SnapshotWriter, identity: EmbedderIdentity, base: Snapshot | None
    ) -> Draft:
        """A copy of `base`, or an empty draft. A keyword-only identity has no vectors.

        If most HNSW rows of the base are deleted ones, it is copied row by row, which drops them.
        """
        folder = snapshots.begin()
        chroma, database = folder / "chroma", folder / "keywords.sqlite3"
        if base is None:
            vectors = VectorWriter.create(chroma) if identity.dimension else None
            return cls(folder, CatalogWriter.create(database), vectors, 0)
        shutil.copyfile(base.catalog, database)
        catalog = CatalogWriter.open_copy(database)
        if not identity.dimension:
            return cls(folder, catalog, None, 0)
        if base.manifest.slots > 2 * max(base.manifest.chunks, FEW_CHUNKS):
            draft = cls(folder, catalog, VectorWriter.create(chroma), 0)
            draft._refill(base)
            return draft
        copy_collection(base.chroma, chroma)
        log.info("copied %s", base.path.name)
        return cls(folder, catalog, VectorWriter.open(chroma), base.manifest.slots)

    def _refill(self, base: Snapshot) -> None:
        source = VectorIndex.open(base.chroma)
        try:
            for file in self.catalog.files():
                records = vector_records(file, self.catalog.chunks_of(file.number))
                found = source.vectors([record.id for record in records])
                self._enqueue(records, [found[record.id] for record in records])
        except KeyError as error:
            what = f"The index has lost the vector of chunk {error}."
            raise IndexUnreadable(what, "Run ingest.py --rebuild.") from error
        finally:
            source.close()

    def add(
        self,
        version: FileVersion,
        document: Document,
        chunks: Sequence[tuple[Chunk, bytes]],
        vectors: Sequence[Vector],
        language: str = "",
    ) -> None:
        """Adds a file with a vector for each chunk; a keyword-only draft ignores the vectors."""
        number = self.catalog.add_file(version, document, chunks, language)
        if self._vectors:
            self._enqueue(self._records(number), vectors)

    def remove(self, number: int) -> None:
        """Removes a file from both indexes."""
        ids = self.catalog.remove_file(number)
        if self._vectors:
            self._flush()
            self._vectors.delete(ids)

    def set_lifecycle(self, number: int, lifecycle: str, superseded_by: str) -> None:
        """Marks a file. Its chunks stay as they are."""
        self.catalog.set_lifecycle(number, lifecycle, superseded_by)
        if self._vectors:
            self._flush()
            self._vectors.update(self._records(number))

    def _records(self, number: int) -> list[VectorRecord]:
        (file,) = self.catalog.files_by_number([number]).values()
        return vector_records(file, self.catalog.chunks_of(number))

    def finish(self) -> Counts:
        """Writes everything, closes the files and verifies that all of it can be read again.

        Raises:
            IndexUnreadable: a chunk cannot be reached; the draft must not be published.
        """
        self._flush()
        log.info("verifying %s", self.folder.name)
        self.catalog.commit()
        counts = Counts(
            self.catalog.count("files"),
            self.catalog.count("chunks"),
            self.catalog.count("chunks", "superseded"),
            self._slots,
            self.catalog.counts_by_root(),
        )
        words = keyword_index.count_chunks(self.catalog.connection)
        self.close()
        if words != counts.chunks:
            what = f"The word index holds {words} of {counts.chunks} chunks."
            raise IndexUnreadable(what, "Run ingest.py --rebuild.")
        self._verify(counts.chunks)
        return counts

    def _verify(self, chunks: int) -> None:
        if not self._vectors:
            return
        reopened = VectorIndex.open(self.folder / "chroma")
        try:
            reopened.verify(chunks)
        finally:
            reopened.close()

    def close(self) -> None:
        """Releases the files."""
        self.catalog.close()
        if self._vectors:
            self._vectors.close()

    def _enqueue(self, records: Sequence[VectorRecord], vectors: Sequence[Vector]) -> None:
        self._waiting.extend(zip(records, vectors, strict=True))
        if len(self._waiting) >= BATCH_CHUNKS:
            self._flush()

    def _flush(self) -> None:
        if self._vectors and self._waiting:
            records, vectors = zip(*self._waiting, strict=True)
            self._vectors.add(records, [np.asarray(vector) for vector in vectors])
            self._slots += len(records)
            self._waiting.clear()


def copy_collection(source: Path, target: Path) -> None:
    """Copies a collection while readers may have it open. `target` must not exist."""
    target.mkdir(mode=0o700)
    with closing(sqlite3.connect(f"{(source / DATABASE).as_uri()}?mode=ro", uri=True)) as database:
        database.execute("VACUUM INTO ?", (str(target / DATABASE),))
    for folder in source.iterdir():
        if folder.is_dir():
            shutil.copytree(folder, target / folder.name)
