"""Chooses the part of each passage to show for a question: by its words, else by its vector."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from local_rag.embedding.base import Vector
from local_rag.embedding.input import EmbeddingInput
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import EmbedderAway, EmbedderChanged, TextRejected
from local_rag.index.manifest import Manifest
from local_rag.text.tokenizer import telling_words, words

TextRange = tuple[int, int]
"""Start and end of a piece of a passage, in characters."""
# Seconds per answer for embedding parts of passages that share no word with the query.
EXCERPT_SECONDS = 1.0
# Ends of lines, and of sentences within a line. Trailing blanks belong to the unit before them.
BORDER = re.compile(r"\n+|(?<=[.!?…])[\"')\]»”*_]*[ \t]+|(?<=[。！？])")
LONGEST_UNIT = 400  # characters; a longer unit without a border is cut between words


@dataclass(frozen=True)
class Excerpt:
    """The part of a passage that is shown; `before` counts the lines above it."""

    text: str
    before: int
    cut: bool

    @property
    def line_ends(self) -> int:
        """How many lines end inside it."""
        return self.text.count("\n")


class Excerpts:
    """Chooses what to show of one answer's passages. `vector` is the query's, if it has one."""

    def __init__(
        self, embedder: QueryEmbedder, manifest: Manifest, query: str, vector: Vector | None
    ) -> None:
        self._embedder, self._manifest, self._vector = embedder, manifest, vector
        self._left = EXCERPT_SECONDS
        self._weights = cache(lambda language: stem_weights(query, language))

    def choose(
        self, texts: Sequence[str], languages: Sequence[str], room: int
    ) -> Iterator[Excerpt]:
        """The excerpt of each passage, best first, in `room` bytes altogether."""
        rooms = ranked_room([len(text.encode("utf-8")) for text in texts], room)
        for text, language, share in zip(texts, languages, rooms, strict=True):
            start, end = self._window(text, language, share)
            shown = text[start:end].rstrip()
            yield Excerpt(shown, text.count("\n", 0, start), (start, end) != (0, len(text)))

    def _window(self, text: str, language: str, room: int) -> tuple[int, int]:
        characters = room * len(text) // max(1, len(text.encode("utf-8")))

        def terms_of(piece: str) -> set[str]:
            return {stem for word in words(piece, language) for stem in word.stems}

        return window(text, characters, terms_of, self._weights(language), self._nearest)

    def _nearest(self, texts: Sequence[str]) -> int:
        """The index of the text nearest to the query; 0 if that would take too long."""
        takes = self._embedder.seconds_for(sum(map(len, texts)))
        if self._vector is None or takes > self._left:
            return 0
        began = time.monotonic()
        pieces = [EmbeddingInput("", text) for text in texts]
        try:
            vectors = self._embedder.documents(
                pieces, self._manifest.identity, self._manifest.reference
            )
        except (EmbedderAway, EmbedderChanged, TextRejected):
            return 0
        finally:  # on a busy machine it takes several times the estimate
            self._left -= max(takes, time.monotonic() - began)
        return int(np.argmax([float(np.dot(v, self._vector)) for v in vectors]))


def stem_weights(query: str, language: str) -> dict[str, float]:
    """The query's stems with their weights: long stems are rarer than short ones."""
    telling = telling_words(query, language)
    return {stem: 1.0 + min(len(stem), 12) / 12 for word in telling for stem in word.stems}


def units(text: str) -> list[TextRange]:
    """`text` as consecutive spans that read as units: lines, sentences, or long pieces."""
    borders = [0, *(m.end() for m in BORDER.finditer(text)), len(text)]
    pieces = []
    for start, end in pairwise(borders):
        first = start
        while end - first > LONGEST_UNIT:
            blank = text.rfind(" ", first + LONGEST_UNIT // 2, first + LONGEST_UNIT)
            border = blank + 1 if blank > 0 else first + LONGEST_UNIT
            pieces.append((first, border))
            first = border
        if first < end:
            pieces.append((first, end))
    return pieces


def window(
    text: str,
    room: int,
    terms_of: Callable[[str], Collection[str]],
    weights: dict[str, float],
    nearest: Callable[[Sequence[str]], int] | None = None,
) -> TextRange:
    """The span of at most about `room` characters to show of `text`.

    It is the run of units with the greatest weight of distinct query terms (`weights`; `terms_of`
    finds them in a unit), widened evenly. If the text contains no term, `nearest` chooses among
    runs that cover it; without `nearest` the beginning is shown.
    """
    if len(text) <= room:
        return 0, len(text)
    spans = units(text)
    found = [{t for t in terms_of(text[a:b]) if t in weights} for a, b in spans]
    if any(found):
        first, last = _best_run(spans, found, weights, room)
    elif nearest:
        runs = _covering_runs(spans, room)
        first, last = runs[nearest([text[spans[a][0] : spans[b][1]] for a, b in runs])]
    else:
        first = last = 0
    return _widened(spans, first, last, room)


def _best_run(
    spans: Sequence[TextRange], found: Sequence[set[str]], weights: dict[str, float], room: int
) -> tuple[int, int]:
    """The shortest run of units with the greatest weight that fits; the first of equals."""
    best, best_key = (0, 0), (0.0, 0)
    for first in range(len(spans)):
        if not found[first]:
            continue
        seen: set[str] = set()
        for last in range(first, len(spans)):
            length = spans[last][1] - spans[first][0]
            if length > room and last > first:
                break
            seen |= found[last]
            key = (sum(weights[term] for term in seen), -length)
            if found[last] and key > best_key:
                best, best_key = (first, last), key
    return best


def _covering_runs(spans: Sequence[TextRange], room: int) -> list[tuple[int, int]]:
    """Consecutive runs, each at most as long as the room."""
    runs: list[tuple[int, int]] = []
    for i, (_, end) in enumerate(spans):
        if runs and end - spans[runs[-1][0]][0] <= room:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return runs


def _widened(spans: Sequence[TextRange], first: int, last: int, room: int) -> TextRange:
    """The run widened by whole units on both sides, evenly, as far as they fit."""
    start, end = spans[first][0], spans[last][1]
    added = {"before": 0, "after": 0}
    while end - start <= room:
        sizes = {}
        if first > 0:
            sizes["before"] = start - spans[first - 1][0]
        if last + 1 < len(spans):
            sizes["after"] = spans[last + 1][1] - end
        fitting = [side for side, size in sizes.items() if size <= room - (end - start)]
        if not fitting:
            return start, end
        side = min(fitting, key=lambda s: (added[s], s))
        added[side] += sizes[side]
        if side == "before":
            first, start = first - 1, spans[first - 1][0]
        else:
            last, end = last + 1, spans[last + 1][1]
    return start, start + room  # a single unit that is longer than the room


def ranked_room(sizes: list[int], room: int) -> list[int]:
    """Shares out `room` bytes from the first on: each gets its size, up to 2.5 even shares.

    The later ones keep at least a third of an even share, if they need it.
    """
    even, left = max(0, room) // max(1, len(sizes)), max(0, room)
    shares: list[int] = []
    for i, size_ in enumerate(sizes):
        kept = sum(min(later, even // 3) for later in sizes[i + 1 :])
        shares.append(max(0, min(size_, even * 5 // 2, left - kept)))
        left -= shares[-1]
    return shares
