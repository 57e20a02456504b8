"""A query to hits, over one open snapshot.

Leaves out how hits are shown (`tools`) and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from local_rag import keywords
from local_rag.catalog import ChunkRecord, FileRecord
from local_rag.errors import EmbedderAway, IndexUnreadable, RegimeChanged, TextRejected
from local_rag.live import OpenIndex
from local_rag.queries import QueryEmbedder
from local_rag.vectors import lifecycle_filter

KEYWORDS_ONLY = "Keyword matches only: {reason}"


@dataclass(frozen=True)
class Hit:
    """A chunk that answers. `score` is the cosine, or BM25 in a keyword answer; more is better."""

    chunk: ChunkRecord
    file: FileRecord
    score: float


@dataclass(frozen=True)
class Answer:
    """Hits, best first, and in one line each what limits them."""

    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()


def search(index: OpenIndex, embedder: QueryEmbedder, query: str, limit: int) -> Answer:
    """Up to `limit` chunks of documents in force, best first.

    Raises:
        IndexUnreadable: neither arm can be searched.
    """
    manifest = index.snapshot.manifest
    notices = []
    if manifest.pending:
        notices.append(f"{manifest.pending} files wait to be indexed; run ingest.py.")
    try:
        scored = _nearest(index, embedder, query, limit)
    except (EmbedderAway, RegimeChanged, TextRejected, IndexUnreadable) as error:
        notices.append(KEYWORDS_ONLY.format(reason=error))
        scored = _matching(index, query, limit)
    return Answer(tuple(_hits(index, scored)), tuple(notices))


def _nearest(
    index: OpenIndex, embedder: QueryEmbedder, query: str, limit: int
) -> list[tuple[str, float]]:
    manifest = index.snapshot.manifest
    if index.damage:
        raise IndexUnreadable(index.damage, "")
    if index.vectors is None:
        raise EmbedderAway("this index has no vectors.", "To add them: ingest.py --rebuild.")
    vector = embedder.vector(query, manifest.regime, manifest.reference)
    where = lifecycle_filter(manifest.superseded_chunks)
    return [(n.id, n.cosine) for n in index.vectors.nearest(vector, limit, where=where)]


def _matching(index: OpenIndex, query: str, limit: int) -> list[tuple[str, float]]:
    return [(m.id, m.bm25) for m in keywords.search(index.catalog, query, limit)]


def _hits(index: OpenIndex, scored: list[tuple[str, float]]) -> list[Hit]:
    chunks = index.catalog.chunks([id_ for id_, _ in scored])
    files = index.catalog.files_by_number({chunk.file for chunk in chunks.values()})
    return [Hit(chunks[id_], files[chunks[id_].file], score) for id_, score in scored]
