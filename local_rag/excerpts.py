"""Chooses which part of each passage to show for a question: by its words, else by its vector.

Leaves out how the room is shared (`fitting`) and where a window may be cut (`snippets`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from local_rag import embedders
from local_rag.embedders import Vector
from local_rag.errors import EmbedderAway, RegimeChanged, TextRejected
from local_rag.fitting import ranked_room
from local_rag.manifest import Manifest
from local_rag.queries import QueryEmbedder
from local_rag.snippets import window
from local_rag.terms import telling_words, words

LOOKING = 1.0  # seconds that an answer may take to embed stretches of a passage without a word


@dataclass(frozen=True)
class Excerpt:
    """The part of a passage that is shown; `before` is how many of its lines end above it."""

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
        self._left = LOOKING
        self._weights = cache(lambda language: stem_weights(query, language))

    def choose(
        self, texts: Sequence[str], languages: Sequence[str], room: int
    ) -> Iterator[Excerpt]:
        """What to show of each passage, best first, in `room` bytes for all."""
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
        """Which of the texts is nearest to the query; the first if that would take too long."""
        takes = self._embedder.seconds_for(sum(map(len, texts)))
        if self._vector is None or takes > self._left:
            return 0
        began = time.monotonic()
        pieces = [embedders.Passage("", text) for text in texts]
        try:
            vectors = self._embedder.documents(
                pieces, self._manifest.regime, self._manifest.reference
            )
        except (EmbedderAway, RegimeChanged, TextRejected):
            return 0
        finally:  # on a busy machine it takes several times what was foreseen
            self._left -= max(takes, time.monotonic() - began)
        return int(np.argmax([float(np.dot(v, self._vector)) for v in vectors]))


def stem_weights(query: str, language: str) -> dict[str, float]:
    """The query's stems, each with what it tells: long ones are rarer than short ones."""
    telling = telling_words(query, language)
    return {stem: 1.0 + min(len(stem), 12) / 12 for word in telling for stem in word.stems}
