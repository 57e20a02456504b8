"""A query to passages, over one open snapshot: both arms, fused, merged, cut to what answers.

Leaves out how hits are shown (`tools`) and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from local_rag import embedders, keywords
from local_rag.calibration import Thresholds
from local_rag.catalog import FileRecord
from local_rag.embedders import Vector
from local_rag.errors import EmbedderAway, IndexUnreadable, RegimeChanged, TextRejected
from local_rag.filters import Filters, Scope, scope_of
from local_rag.fitting import ranked_room
from local_rag.fusion import SEMANTIC_WEIGHTS, Fused, fuse
from local_rag.live import OpenIndex
from local_rag.passages import Passage, passages
from local_rag.queries import QueryEmbedder
from local_rag.snippets import window
from local_rag.terms import telling_words, words

Mode = Literal["hybrid", "semantic", "keyword"]

CANDIDATES = 100  # chunks that each arm hands over
MERGED_FROM = 3  # times the limit: how far down a neighbour is still worth joining
LOOKING = 1.0  # seconds that an answer may take to embed stretches of a passage without a word
NAMED = 0.3  # bonus of a chunk that has a name which the question mentions among other words
KEYWORDS_ONLY = "Keyword matches only: {reason}"


@dataclass(frozen=True)
class Query:
    """What is asked: `limit` passages, in the order of `mode`, with `room` bytes of text."""

    text: str
    limit: int
    mode: Mode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    room: int = 5_000


@dataclass(frozen=True)
class Hit:
    """A passage that answers. Lines and text are those of the part that is shown.

    `score` is the place in the fused order, from 0 to 1; `cosine` and `coverage` (the share of
    the query's words, weighed by rarity) say how good the match is; `weak` if neither is enough.
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
class Answer:
    """Hits, best first, and in one line each what limits them.

    `more` counts the chunks that match and are neither shown nor weak.
    """

    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class _Found:
    """What the arms found. `vector` is the query's, where it could be embedded."""

    cosines: dict[str, float]
    matches: dict[str, keywords.Match]
    vector: Vector | None


def search(
    index: OpenIndex, embedder: QueryEmbedder, query: Query, thresholds: Thresholds
) -> Answer:
    """The passages that answer best, of the documents that the filters let through.

    Raises:
        IndexUnreadable: neither arm can be searched.
        BadArgument: a filter is malformed.
    """
    notices = pending_notices(index)
    scope = scope_of(index, query.filters)
    if scope.nothing:
        return Answer((), (*notices, scope.nothing))
    found = _both_arms(index, embedder, query, scope, notices)
    ranked = rank(index, query.text, found.cosines, found.matches, query.mode)
    page = _page(index, ranked, query.limit)
    shown = _Windows(index, embedder, query, found)
    hits = tuple(_hits(index, shown, page, thresholds))
    more = sum(not _is_weak(found, fused.id, thresholds) for fused in ranked)
    more -= sum(passage.merged for passage, hit in zip(page, hits, strict=True) if not hit.weak)
    return Answer(hits, tuple(notices), max(0, more))


def _is_weak(found: _Found, id_: str, thresholds: Thresholds) -> bool:
    match = found.matches.get(id_)
    return thresholds.is_weak(found.cosines.get(id_), match.coverage if match else 0.0)


def pending_notices(index: OpenIndex) -> list[str]:
    """What every answer from this snapshot has to say first."""
    pending = index.snapshot.manifest.pending
    waiting = [f"{pending} files wait to be indexed; run ingest.py."] if pending else []
    return index.first_notices + waiting


def rank(
    index: OpenIndex,
    query: str,
    cosines: dict[str, float],
    matches: dict[str, keywords.Match],
    mode: Mode,
) -> list[Fused]:
    """Both arms' chunks in the order of `mode`."""
    bm25 = {} if mode == "semantic" else {id_: m.bm25 for id_, m in matches.items()}
    weight = SEMANTIC_WEIGHTS.get(index.snapshot.manifest.regime.kind, 0.0)
    if not bm25 or not cosines:
        weight = 1.0 if cosines else 0.0
    return fuse(cosines, bm25, weight, _name_bonus(index, query, matches) if bm25 else {})


def _name_bonus(
    index: OpenIndex, query: str, matches: dict[str, keywords.Match]
) -> dict[str, float]:
    """What having the query's names as written adds: all there is if it is names alone."""
    most = 1.0 if keywords.only_names(index.catalog, query) else NAMED
    return {id_: most * match.named for id_, match in matches.items() if match.named}


def _both_arms(
    index: OpenIndex, embedder: QueryEmbedder, query: Query, scope: Scope, notices: list[str]
) -> _Found:
    found = keywords.search(index.catalog, query.text, CANDIDATES, scope.files)
    matches = {match.id: match for match in found}
    if query.mode == "keyword":
        return _Found({}, matches, None)
    try:
        vector = query_vector(index, embedder, query.text)
        assert index.vectors
        near = index.vectors.nearest(vector, CANDIDATES, where=scope.where)
    except (EmbedderAway, RegimeChanged, TextRejected, IndexUnreadable) as error:
        if query.mode == "semantic":  # nothing was searched: that is no "no match"
            raise
        notices.append(KEYWORDS_ONLY.format(reason=error))
        return _Found({}, matches, None)
    return _Found({neighbour.id: neighbour.cosine for neighbour in near}, matches, vector)


def query_vector(index: OpenIndex, embedder: QueryEmbedder, text: str) -> Vector:
    """The query's vector in the snapshot's regime.

    Raises:
        IndexUnreadable, EmbedderAway, RegimeChanged, TextRejected: there is none, and why.
    """
    if index.damage:
        raise IndexUnreadable(index.damage, "")
    if index.vectors is None:
        raise EmbedderAway("This index has no vectors.", "To add them: ingest.py --rebuild.")
    manifest = index.snapshot.manifest
    return embedder.vector(text, manifest.regime, manifest.reference)


def _page(index: OpenIndex, ranked: list[Fused], limit: int) -> list[Passage]:
    top = ranked[: limit * MERGED_FROM]
    chunks = index.catalog.chunks(fused.id for fused in top)
    ordinals = index.catalog.ordinals({chunk.file for chunk in chunks.values()})
    return passages(top, chunks, ordinals, limit)


def _hits(
    index: OpenIndex, shown: _Windows, page: Sequence[Passage], thresholds: Thresholds
) -> list[Hit]:
    files = index.catalog.files_by_number({passage.file for passage in page})
    cosines = shown.found.cosines | _cosines_of_keyword_hits(index, shown.found, page)
    texts = [index.catalog.text(p.file)[p.start : p.end] for p in page]
    rooms = ranked_room([len(text.encode("utf-8")) for text in texts], shown.room)
    hits = []
    for passage, text, room in zip(page, texts, rooms, strict=True):
        file, id_ = files[passage.file], passage.best.id
        match = shown.found.matches.get(id_)
        coverage, cosine = match.coverage if match else 0.0, cosines.get(id_)
        span = shown.window(file, text, room)
        start, end = span[0], span[0] + len(text[slice(*span)].rstrip())
        first = passage.first_line + text.count("\n", 0, start)
        hits.append(
            Hit(
                id=id_,
                file=file,
                headings=passage.chunk.headings,
                label=passage.chunk.label,
                first_line=first,
                last_line=first + text.count("\n", start, end),
                text=text[start:end],
                cut=span != (0, len(text)),
                score=passage.best.score,
                cosine=cosine,
                keyword_rank=passage.best.keyword_rank,
                coverage=coverage,
                weak=thresholds.is_weak(cosine, coverage),
            )
        )
    return hits


def _cosines_of_keyword_hits(
    index: OpenIndex, found: _Found, page: Sequence[Passage]
) -> dict[str, float]:
    """The cosines of hits that the vector arm didn't rank, so that every hit has one."""
    missing = [p.best.id for p in page if p.best.id not in found.cosines]
    if found.vector is None or index.vectors is None or not missing:
        return {}
    stored = index.vectors.vectors(missing)
    return {id_: float(np.dot(vector, found.vector)) for id_, vector in stored.items()}


class _Windows:
    """Chooses what to show of one answer's passages."""

    def __init__(
        self, index: OpenIndex, embedder: QueryEmbedder, query: Query, found: _Found
    ) -> None:
        self.found, self.room = found, query.room
        self._index, self._embedder, self._vector = index, embedder, found.vector
        self._query, self._left = query.text, LOOKING
        self._weights = cache(lambda language: stem_weights(query.text, language))

    def window(self, file: FileRecord, text: str, room: int) -> tuple[int, int]:
        """The span of the passage to show in `room` bytes."""
        characters = room * len(text) // max(1, len(text.encode("utf-8")))
        language = file.language

        def terms_of(piece: str) -> set[str]:
            return {stem for word in words(piece, language) for stem in word.stems}

        return window(text, characters, terms_of, self._weights(language), self._nearest)

    def _nearest(self, texts: Sequence[str]) -> int:
        """Which of the texts is nearest to the query; the first if that would take too long."""
        takes = self._embedder.seconds_for(sum(map(len, texts)))
        if self._vector is None or takes > self._left:
            return 0
        began = time.monotonic()
        manifest = self._index.snapshot.manifest
        pieces = [embedders.Passage("", text) for text in texts]
        try:
            vectors = self._embedder.documents(pieces, manifest.regime, manifest.reference)
        except (EmbedderAway, RegimeChanged, TextRejected):
            return 0
        finally:  # on a busy machine it takes several times what was foreseen
            self._left -= max(takes, time.monotonic() - began)
        return int(np.argmax([float(np.dot(v, self._vector)) for v in vectors]))


def stem_weights(query: str, language: str) -> dict[str, float]:
    """The query's stems, each with what it tells: long ones are rarer than short ones."""
    telling = telling_words(query, language)
    return {stem: 1.0 + min(len(stem), 12) / 12 for word in telling for stem in word.stems}
