"""From a query to passages over one open snapshot: both arms, fused, merged, cut to excerpts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from local_rag.embedding.base import Vector
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import EmbedderAway, EmbedderChanged, IndexUnreadable, TextRejected
from local_rag.index.catalog import FileRecord
from local_rag.index.keyword_index import KeywordMatch, search_keywords
from local_rag.index.live_index import OpenIndex
from local_rag.search.filters import Filters, Selection, passing, selection_of
from local_rag.search.fusion import SEMANTIC_WEIGHTS, Fused, fuse
from local_rag.search.passages import Passage, passages
from local_rag.search.snippets import Excerpt, Excerpts
from local_rag.search.weakness import Thresholds

Mode = Literal["hybrid", "semantic", "keyword"]
CANDIDATES = 100  # chunks that each arm hands over
MERGED_FROM = 3  # times the limit: how far down a neighbour is still worth merging
SUPERSEDED = "{} superseded documents match; to search them pass include_superseded=True."
EMPTY = "The index holds no documents; run ingest.py on a folder that has some."
KEYWORDS_ONLY = "Keyword matches only: {reason}"


@dataclass(frozen=True)
class Query:
    """A question: `limit` passages, in the order of `mode`, with `room` bytes of text in all."""

    text: str
    limit: int
    mode: Mode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    room: int = 5_000


@dataclass(frozen=True)
class Hit:
    """A passage found. Lines and text are those of the part that is shown.

    `score` orders the hits, from 0 to 1. `cosine` and `coverage` (the share of the query's words,
    weighed by rarity) say how good the match is; it is `weak` if neither is high enough.
    """

    id: str
    file: FileRecord
    headings: tuple[str, ...]
    label: str
    first_line: int
    last_line: int
    text: str
    cut: bool
    score: float
    cosine: float | None
    keyword_rank: int | None
    coverage: float
    weak: bool


@dataclass(frozen=True)
class SearchOutcome:
    """Hits, best first, and notices about what limits them, one line each.

    `more` counts the matching chunks that are neither shown nor weak.
    """

    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class _Arms:
    """What both arms found. `vector` is the query's, where it could be embedded."""

    matches: dict[str, KeywordMatch]
    cosines: dict[str, float] = field(default_factory=dict)
    vector: Vector | None = None
    notices: tuple[str, ...] = ()

    def coverage(self, id_: str) -> float:
        """The share of the query's words in a chunk."""
        match = self.matches.get(id_)
        return match.coverage if match else 0.0

    def is_weak(self, id_: str, thresholds: Thresholds) -> bool:
        """Whether neither arm's match with a chunk is good enough."""
        return thresholds.is_weak(self.cosines.get(id_), self.coverage(id_))


def search(
    index: OpenIndex, embedder: QueryEmbedder, query: Query, thresholds: Thresholds
) -> SearchOutcome:
    """The best passages of the documents that match the filters.

    Raises:
        IndexUnreadable: neither arm can be searched.
        BadArgument: a filter is malformed.
    """
    scope = selection_of(index, query.filters)
    if scope.nothing:
        return SearchOutcome((), (*pending_notices(index), scope.nothing))
    found = _both_arms(index, embedder, query, scope)
    ranked = rank(index, found.cosines, found.matches, query.mode)
    page = _page(index, ranked, query.limit)
    found = _with_all_cosines(index, found, page)
    shown = _excerpts(index, embedder, query, found, page)
    hits = tuple(_hit(found, thresholds, *each) for each in shown)
    more = sum(not found.is_weak(fused.id, thresholds) for fused in ranked)
    more -= sum(passage.merged for passage, hit in zip(page, hits, strict=True) if not hit.weak)
    hidden = _hidden(index, query, thresholds) if all(hit.weak for hit in hits) else []
    notices = (*pending_notices(index), *found.notices, *hidden)
    return SearchOutcome(hits, notices, max(0, more))


def _hidden(index: OpenIndex, query: Query, thresholds: Thresholds) -> list[str]:
    """A notice if superseded documents, which were not searched, match the query."""
    manifest, catalog = index.snapshot.manifest, index.catalog
    if query.filters.include_superseded or not manifest.superseded_chunks:
        return []
    filters = replace(query.filters, include_superseded=True)
    files, _ = passing(filters, catalog.files(), manifest.roots)
    numbers = {file.number for file in files if file.lifecycle == "superseded"}
    found = search_keywords(catalog, query.text, CANDIDATES, numbers)
    chunks = catalog.chunks(m.id for m in found if not thresholds.is_weak(None, m.coverage))
    count = len({chunk.file for chunk in chunks.values()})
    return [SUPERSEDED.format(count)] if count else []


def pending_notices(index: OpenIndex) -> tuple[str, ...]:
    """What every answer from this snapshot must say first."""
    pending = index.snapshot.manifest.pending
    waiting = [f"{pending} files wait to be indexed; run ingest.py."] if pending else []
    empty = [] if index.snapshot.manifest.files else [EMPTY]
    return (*index.first_notices, *waiting, *empty)


def rank(
    index: OpenIndex,
    cosines: dict[str, float],
    matches: dict[str, KeywordMatch],
    mode: Mode,
) -> list[Fused]:
    """Both arms' chunks in the order of `mode`."""
    bm25 = {} if mode == "semantic" else {id_: m.bm25 for id_, m in matches.items()}
    weight = SEMANTIC_WEIGHTS.get(index.snapshot.manifest.identity.kind, 0.0)
    if not bm25 or not cosines:
        weight = 1.0 if cosines else 0.0
    bonus = {id_: match.named for id_, match in matches.items() if bm25 and match.named}
    return fuse(cosines, bm25, weight, bonus)


def _both_arms(index: OpenIndex, embedder: QueryEmbedder, query: Query, scope: Selection) -> _Arms:
    found = search_keywords(index.catalog, query.text, CANDIDATES, scope.files)
    matches = {match.id: match for match in found}
    if query.mode == "keyword":
        return _Arms(matches)
    try:
        vector = query_vector(index, embedder, query.text)
        assert index.vectors
        near = index.vectors.nearest(vector, CANDIDATES, where=scope.where)
    except (EmbedderAway, EmbedderChanged, TextRejected, IndexUnreadable) as error:
        if query.mode == "semantic":  # nothing was searched, so "no match" would be untrue
            raise
        return _Arms(matches, notices=(KEYWORDS_ONLY.format(reason=error),))
    return _Arms(matches, {neighbour.id: neighbour.cosine for neighbour in near}, vector)


def query_vector(index: OpenIndex, embedder: QueryEmbedder, text: str) -> Vector:
    """The query's vector, by the snapshot's own embedder.

    Raises:
        IndexUnreadable, EmbedderAway, EmbedderChanged, TextRejected: there is none, and why.
    """
    if index.damage:
        raise IndexUnreadable(index.damage, "")
    if index.vectors is None:
        raise EmbedderAway("This index has no vectors.", "To add them: ingest.py --rebuild.")
    manifest = index.snapshot.manifest
    return embedder.vector(text, manifest.identity, manifest.reference)


def _page(index: OpenIndex, ranked: list[Fused], limit: int) -> list[Passage]:
    top = ranked[: limit * MERGED_FROM]
    chunks = index.catalog.chunks(fused.id for fused in top)
    ordinals = index.catalog.ordinals({chunk.file for chunk in chunks.values()})
    return passages(top, chunks, ordinals, limit)


def _with_all_cosines(index: OpenIndex, found: _Arms, page: Sequence[Passage]) -> _Arms:
    """Adds the cosines of hits that the vector arm did not rank, so that every hit has one."""
    missing = [p.best.id for p in page if p.best.id not in found.cosines]
    if found.vector is None or index.vectors is None or not missing:
        return found
    stored = index.vectors.vectors(missing)
    more = {id_: float(np.dot(vector, found.vector)) for id_, vector in stored.items()}
    return replace(found, cosines=found.cosines | more)


def _excerpts(
    index: OpenIndex, embedder: QueryEmbedder, query: Query, found: _Arms, page: Sequence[Passage]
) -> list[tuple[Passage, FileRecord, Excerpt]]:
    """Each passage with its file and what to show of it."""
    by_number = index.catalog.files_by_number({passage.file for passage in page})
    files = [by_number[passage.file] for passage in page]
    texts = [index.catalog.text(p.file)[p.start : p.end] for p in page]
    excerpts = Excerpts(embedder, index.snapshot.manifest, query.text, found.vector)
    shown = excerpts.choose(texts, [file.language for file in files], query.room)
    return list(zip(page, files, shown, strict=True))


def _hit(
    found: _Arms, thresholds: Thresholds, passage: Passage, file: FileRecord, excerpt: Excerpt
) -> Hit:
    first = passage.first_line + excerpt.before
    id_ = passage.best.id
    return Hit(
        id=id_,
        file=file,
        headings=passage.chunk.headings,
        label=passage.chunk.label,
        first_line=first,
        last_line=first + excerpt.line_ends,
        text=excerpt.text,
        cut=excerpt.cut,
        score=passage.best.score,
        cosine=found.cosines.get(id_),
        keyword_rank=passage.best.keyword_rank,
        coverage=found.coverage(id_),
        weak=found.is_weak(id_, thresholds),
    )
