"""The Chroma collection of one snapshot: vectors and the metadata that filters need.

Chunk texts are only in the catalog: with them Chroma took 3 times as long to add a chunk and
2.8 times the disk (2,000 chunks: 2.3 s against 0.8 s, 32 MB against 12 MB), and no search reads
them. `import chromadb` takes about a second, so it happens when a collection is first opened.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from local_rag.embedding.base import Vector
from local_rag.errors import IndexUnreadable, RagError
from local_rag.index.catalog import ChunkRecord, FileRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

COLLECTION = "chunks"
DATABASE = "chroma.sqlite3"
PAGE_RECORDS = 5000  # Chroma takes at most 5,461 records a call
_IMPORTING = threading.Lock()


@dataclass(frozen=True)
class VectorRecord:
    """One chunk as the collection stores it. `file` is its file's number in the catalog."""

    id: str
    file: int
    root: str
    path: str
    lifecycle: str
    first_line: int
    last_line: int

    def metadata(self) -> dict[str, str | int]:
        """The metadata that Chroma stores with the vector; every chunk has every key."""
        return {
            "file": self.file,
            "root": self.root,
            "path": self.path,
            "lifecycle": self.lifecycle,
            "start_line": self.first_line,
            "end_line": self.last_line,
        }


def vector_records(file: FileRecord, chunks: Sequence[ChunkRecord]) -> list[VectorRecord]:
    """A file's chunks as the collection holds them."""
    where = (file.number, file.root, file.path, file.lifecycle)
    return [VectorRecord(chunk.id, *where, chunk.first_line, chunk.last_line) for chunk in chunks]


@dataclass(frozen=True)
class Neighbour:
    """A chunk near a query: its id and the cosine similarity, from -1 to 1."""

    id: str
    cosine: float


class VectorIndex:
    """An open collection. Close it: Chroma keeps files and memory until then."""

    def __init__(self, client: ClientAPI, collection: Collection) -> None:
        self._client, self.collection = client, collection

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The collection in `folder`.

        Raises:
            IndexUnreadable: there is none. Chroma itself would create an empty one.
        """
        if not (folder / DATABASE).is_file():
            raise IndexUnreadable(f"{folder} holds no vectors.", "Run ingest.py --rebuild.")
        with translated():
            client = open_client(folder)
            return cls(client, client.get_collection(COLLECTION, embedding_function=None))

    def close(self) -> None:
        """Releases the collection's files."""
        self._client.close()  # type: ignore[attr-defined]

    def load(self, dimension: int) -> None:
        """Makes Chroma read all its files now, so that later damage to them does no harm."""
        with translated():
            self.collection.query(
                query_embeddings=np.eye(1, dimension, dtype=np.float32), n_results=1
            )

    def count(self) -> int:
        """How many chunks there are."""
        with translated():
            return self.collection.count()

    def nearest(
        self, vector: Vector, count: int, *, where: dict[str, Any] | None = None
    ) -> list[Neighbour]:
        """Up to `count` chunks by descending cosine, among those that match `where`.

        Raises:
            IndexUnreadable: the collection is damaged.
        """
        with translated():
            found = self.collection.query(
                query_embeddings=vector[None, :],
                n_results=count,
                where=where,
                include=["distances"],
            )
        ids, distances = found["ids"][0], (found["distances"] or [[]])[0]
        return [Neighbour(i, 1 - float(d)) for i, d in zip(ids, distances, strict=True)]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """The stored vectors, by id, for the ids that exist."""
        with translated():
            found = self.collection.get(ids=list(ids), include=["embeddings"])
        rows = found["embeddings"] if found["embeddings"] is not None else []
        return {
            id_: np.asarray(row, dtype=np.float32)
            for id_, row in zip(found["ids"], rows, strict=True)
        }

    def records(self, ids: Sequence[str]) -> dict[str, tuple[Vector, dict[str, Any]]]:
        """The stored vectors and metadata, by id, for the ids that exist."""
        with translated():
            found = self.collection.get(ids=list(ids), include=["embeddings", "metadatas"])
        rows = found["embeddings"] if found["embeddings"] is not None else []
        return {
            id_: (np.asarray(row, dtype=np.float32), dict(metadata))
            for id_, row, metadata in zip(found["ids"], rows, found["metadatas"] or [], strict=True)
        }

    def verify(self, expected: int) -> None:
        """Checks that every chunk can be counted and reached.

        The filter makes Chroma map each id to its row, which fails if one is missing.

        Raises:
            IndexUnreadable: the number of chunks is wrong.
        """
        count = self.count()
        if count != expected:
            what = f"The index holds {count} chunks where {expected} were written."
            raise IndexUnreadable(what, "Run ingest.py --rebuild.")
        if count:
            everything = {"lifecycle": {"$ne": "-"}}
            with translated():
                one = self.collection.get(limit=1, include=["embeddings"])["embeddings"]
            if one is None or not self.nearest(np.asarray(one[0]), 10, where=everything):
                raise IndexUnreadable("The index returns nothing.", "Run ingest.py --rebuild.")


def lifecycle_filter(superseded_chunks: int) -> dict[str, Any] | None:
    """The `where` that hides superseded chunks; None where there are none, as it costs time."""
    return {"lifecycle": {"$ne": "superseded"}} if superseded_chunks else None


def open_client(folder: Path) -> ClientAPI:
    """Chroma's client for `folder`, which it would create where there is none.

    Its settings are Chroma's defaults and nothing else. Left to itself Chroma takes them from
    `.env` in the working directory and from variables without a prefix: CHROMA_API_IMPL sends
    the vectors to another host.
    """
    chromadb = import_chroma()
    settings = chromadb.config.Settings.model_construct(
        is_persistent=True, persist_directory=str(folder), anonymized_telemetry=False
    )
    client: ClientAPI = chromadb.PersistentClient(str(folder), settings)
    return client


def import_chroma() -> ModuleType:
    """Chroma, which builds its settings as it is imported too: here without any source for them."""
    import pydantic
    import pydantic_settings

    with _IMPORTING:
        if "chromadb" not in sys.modules:
            usual = pydantic_settings.BaseSettings
            pydantic_settings.BaseSettings = pydantic.BaseModel  # type: ignore[assignment, misc]
            try:
                import chromadb
            finally:
                pydantic_settings.BaseSettings = usual  # type: ignore[misc]
    import chromadb

    return chromadb


def _unreadable(why: str) -> RagError:
    return IndexUnreadable(
        f"The vectors cannot be read ({why}).", "Run ingest.py to repair the index."
    )


@contextmanager
def translated(failure: Callable[[str], RagError] = _unreadable) -> Iterator[None]:
    """Chroma's failures as ours. Its Rust panics derive from BaseException."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, IndexUnreadable):
        raise
    except BaseException as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise failure(text[0][:200]) from error
