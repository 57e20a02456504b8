"""Gives files their vectors, which come from the cache, the base snapshot or the embedder.

Batches span files, and every new vector is cached before anything else happens to it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from local_rag.chunking.chunks import Chunk, halve
from local_rag.corpus.scan import FileVersion
from local_rag.documents.document import Document
from local_rag.embedding.base import Embedder, Vector
from local_rag.embedding.batches import embed_batch, next_batch
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput, embedding_input
from local_rag.errors import EmbedderAway, TextRejected, TextTooLong
from local_rag.index.catalog import Catalog
from local_rag.index.snapshots import Snapshot
from local_rag.index.vector_index import VectorIndex
from local_rag.ingest.embedding_cache import EmbeddingCache
from local_rag.ingest.plan import PlannedFile

log = logging.getLogger(__name__)
FIRST_BATCH = 64  # chunks at least, out of which the first batch is taken to measure
Lookup = Callable[[Sequence[bytes]], dict[bytes, Vector]]


@dataclass
class PreparedFile:
    """A parsed and chunked file. `failure` says why it cannot be indexed."""

    todo: PlannedFile
    version: FileVersion
    document: Document
    chunks: list[tuple[Chunk, bytes]]
    vectors: dict[bytes, Vector] = field(default_factory=dict)
    failure: str = ""

    @property
    def missing(self) -> list[bytes]:
        """The keys that have no vector yet."""
        return [key for _, key in self.chunks if key not in self.vectors]

    @property
    def ordered_vectors(self) -> list[Vector]:
        """The vectors in the order of `chunks`; empty in a keyword-only store."""
        return [self.vectors[key] for _, key in self.chunks] if self.vectors else []


def keyed(
    document: Document, chunks: Sequence[Chunk], identity: EmbedderIdentity
) -> list[tuple[Chunk, bytes]]:
    """Each chunk with the cache key of its embedding."""
    return [(chunk, embedding_input(document, chunk).key(identity)) for chunk in chunks]


@dataclass(frozen=True)
class EmbeddingWork:
    """How many different chunks there are, how many have no vector, and how long one takes."""

    chunks: int
    missing: int
    seconds_each: float = 0.0


class VectorResolver:
    """Finds or makes the vectors of files. `embedder` is None if it is away from the start.

    `stored` looks vectors up in the base snapshot. `away` says why the embedder is away, once it
    is.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        identity: EmbedderIdentity,
        cache: EmbeddingCache,
        stored: Lookup,
        away: str = "",
    ) -> None:
        self.embedded = 0
        self.away = away
        self._embedder, self._identity = embedder, identity
        self._cache, self._stored = cache, stored
        self._waiting: deque[PreparedFile] = deque()
        self._passages: dict[bytes, EmbeddingInput] = {}

    def survey(self, files: Iterable[PreparedFile]) -> EmbeddingWork:
        """How much there is to embed. Embeds the first batch, to measure how long it takes."""
        seen: set[bytes] = set()
        missing: set[bytes] = set()
        for file in files:
            new = {key for _, key in file.chunks} - seen
            seen |= new
            found = self._cache.get(new)
            found |= self._stored(list(new - found.keys()))
            missing |= new - found.keys()
            if len(self._passages) < FIRST_BATCH:
                self._passages |= {
                    key: embedding_input(file.document, chunk)
                    for chunk, key in file.chunks
                    if key in missing
                }
        if not self._embedder or not missing:
            self._passages.clear()
            return EmbeddingWork(len(seen), len(missing))
        started = time.monotonic()
        self._embed_next()
        seconds = time.monotonic() - started
        self._passages.clear()
        return EmbeddingWork(len(seen), len(missing), seconds / max(1, self.embedded))

    def resolve(self, files: Iterable[PreparedFile]) -> Iterator[PreparedFile]:
        """Every file in order, with all its vectors or with its failure."""
        for file in files:
            self._enqueue(file)
            while self._embedder and len(self._passages) >= self._embedder.batch_size:
                self._embed_next()
            yield from self._finished()
        while self._embedder and self._passages:
            self._embed_next()
            yield from self._finished()
        for file in self._waiting:
            file.failure = file.failure or (self.away if file.missing else "")
            yield file

    def _enqueue(self, file: PreparedFile) -> None:
        self._waiting.append(file)
        file.vectors.update(self._cache.get(dict.fromkeys(file.missing)))
        if file.missing:
            file.vectors.update(self._stored(file.missing))
        for chunk, key in file.chunks:
            if key not in file.vectors:
                self._passages[key] = embedding_input(file.document, chunk)

    def _finished(self) -> Iterator[PreparedFile]:
        while self._waiting and (self._waiting[0].failure or not self._waiting[0].missing):
            yield self._waiting.popleft()

    def _embed_next(self) -> None:
        assert self._embedder is not None
        keys = next_batch(self._embedder, self._passages)
        try:
            outcomes = embed_batch(self._embedder, [self._passages[key] for key in keys])
        except EmbedderAway as error:
            self._embedder, self.away = None, str(error)
            return
        vectors = {}
        for key, outcome in zip(keys, outcomes, strict=True):
            del self._passages[key]
            if isinstance(outcome, TextTooLong):
                self._split(key)
            elif isinstance(outcome, TextRejected):
                self._fail(key, str(outcome))
            else:
                vectors[key] = outcome
        self.embedded += len(vectors)
        self._cache.put(vectors)
        log.debug("embedded %d chunks", self.embedded)
        for file in self._waiting:
            file.vectors.update({key: vectors[key] for _, key in file.chunks if key in vectors})

    def _fail(self, key: bytes, why: str) -> None:
        for file in self._waiting:
            for chunk, other in file.chunks:
                if other == key:
                    file.failure = f"lines {chunk.first_line}-{chunk.last_line}: {why}"

    def _split(self, key: bytes) -> None:
        """Replaces a chunk that is too long by its halves, and looks for their vectors."""
        for file in [f for f in self._waiting if any(k == key for _, k in f.chunks)]:
            chunks: list[tuple[Chunk, bytes]] = []
            for chunk, other in file.chunks:
                if other != key:
                    chunks.append((chunk, other))
                elif len(chunk.text) < 2:
                    file.failure = "one character is too long for the embedder"
                else:
                    halves = halve(chunk, file.document.text)
                    chunks += keyed(file.document, halves, self._identity)
            file.chunks = chunks
            file.vectors.update(self._cache.get(file.missing))
            for chunk, other in chunks:
                if other not in file.vectors and not file.failure:
                    self._passages.setdefault(other, embedding_input(file.document, chunk))


class BaseVectors:
    """The vectors of a snapshot by cache key; none if another embedder made them."""

    def __init__(self, snapshot: Snapshot | None, identity: EmbedderIdentity) -> None:
        usable = (
            snapshot is not None and identity.dimension and snapshot.manifest.identity == identity
        )
        self._snapshot = snapshot if usable else None
        self._catalog: Catalog | None = None
        self._vectors: VectorIndex | None = None

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of the keys it has a vector for."""
        return set(self._opened().ids_by_key(keys)) if self._snapshot else set()

    def lookup(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that it has for the keys."""
        if self._snapshot is None:
            return {}
        ids = self._opened().ids_by_key(keys)
        if not ids:
            return {}
        self._vectors = self._vectors or VectorIndex.open(self._snapshot.chroma)
        found = self._vectors.vectors(list(ids.values()))
        return {key: found[id_] for key, id_ in ids.items() if id_ in found}

    def close(self) -> None:
        """Releases the snapshot's files."""
        for opened in (self._catalog, self._vectors):
            if opened:
                opened.close()

    def _opened(self) -> Catalog:
        assert self._snapshot is not None
        self._catalog = self._catalog or Catalog.open(self._snapshot.catalog)
        return self._catalog
