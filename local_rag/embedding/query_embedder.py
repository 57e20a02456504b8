"""Embeds questions with the very embedder that the index was built with, or says why it cannot.

An outage is remembered for a short while, so a dead embedder costs one wait, not one per call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from local_rag.embedding.base import Embedder, Vector
from local_rag.embedding.canary import SAME_EMBEDDER, canary_vector, similarity
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import EmbedderAway, EmbedderChanged, TextRejected, TextTooLong
from local_rag.text.language import is_foreign

T = TypeVar("T")
SHORT_QUERY = 200  # characters; a shorter query takes no less time, as a request has its cost
OUTAGE = 10.0  # seconds for which an outage is remembered
RECHECK = 300.0  # seconds after which the embedder's identity is checked again
QUERY_PATIENCE = 1.0  # seconds until an embedder that has not responded is pinged
LONGEST_WAIT = 20.0  # seconds for an embedder that is up: several requests, each with its limit
AT_ONCE = 8  # questions; Ollama embeds one after the other, and one that hangs must not block all
MakeEmbedder = Callable[[EmbedderIdentity], Embedder | None]


class QueryEmbedder:
    """Embeds questions for whichever identity the live snapshot has. Safe on several threads."""

    def __init__(
        self,
        make: MakeEmbedder,
        clock: Callable[[], float] = time.monotonic,
        patience: float = QUERY_PATIENCE,
        longest: float = LONGEST_WAIT,
    ) -> None:
        self._make, self._clock, self._patience, self._longest = make, clock, patience, longest
        self._preparing = threading.Lock()  # the embedder is made and checked once
        # A request that hangs must not hold up the answer, so each runs on a thread of its own.
        self._pool = ThreadPoolExecutor(AT_ONCE, "embedder")
        self._recheck = 0.0
        self._identity: EmbedderIdentity | None = None
        self._embedder: Embedder | None = None
        self._outage: tuple[float, EmbedderAway | EmbedderChanged] | None = None
        self._pace = float("inf")  # seconds a character

    def vector(
        self, query: str, identity: EmbedderIdentity, reference: tuple[float, ...]
    ) -> Vector:
        """The question's unit vector.

        Raises:
            EmbedderAway: the embedder does not respond, or did not a moment ago.
            EmbedderChanged: it is no longer the embedder that the index was built with.
            TextRejected: it has no vector for this question.
        """

        def embed(embedder: Embedder) -> Vector:
            known = embedder.languages
            if known and is_foreign(query, known):
                what = f"the {identity.kind} embedder knows only {', '.join(sorted(known))}."
                raise TextRejected(what, "An index built with Ollama knows more languages.")
            began = self._clock()
            vector = embedder.embed_query(query)
            self._pace = (self._clock() - began) / max(len(query), SHORT_QUERY)
            return vector

        return self._asked(embed, identity, reference)

    def seconds_for(self, characters: int) -> float:
        """Seconds to embed that much text, judging by the last query."""
        return characters * self._pace

    def documents(
        self,
        passages: Sequence[EmbeddingInput],
        identity: EmbedderIdentity,
        reference: tuple[float, ...],
    ) -> list[Vector]:
        """The vectors of passages, one each. Raises as `vector` does."""
        return self._asked(lambda e: e.embed_documents(passages), identity, reference)

    def _asked(
        self, ask: Callable[[Embedder], T], identity: EmbedderIdentity, reference: tuple[float, ...]
    ) -> T:
        self._raise_remembered()
        try:
            return self._waited_for(lambda: ask(self._ready(identity, reference)))
        except (EmbedderAway, EmbedderChanged) as error:
            self._outage = (self._clock() + OUTAGE, error)
            self._identity = None  # it may come back as another
            raise
        except TextTooLong as error:
            raise TextRejected("The question is too long to embed.", "Shorten it.") from error

    def _waited_for(self, call: Callable[[], T]) -> T:
        """What `call` returns. An embedder that does not respond to a ping is not waited for."""
        answer = self._pool.submit(call)
        try:
            return answer.result(self._patience)
        except TimeoutError:
            if self._embedder and not self._embedder.is_up(self._patience / 2):
                what = f"{self._embedder.name} does not respond."
                raise EmbedderAway(what, "Restart it.") from None
        try:
            return answer.result(self._longest)
        except TimeoutError:
            what = f"The embedder did not respond within {self._longest:g} seconds."
            raise EmbedderAway(what, "Try again, or restart it.") from None

    def _raise_remembered(self) -> None:
        outage = self._outage
        if outage and self._clock() < outage[0]:
            raise outage[1]

    def _ready(self, identity: EmbedderIdentity, reference: tuple[float, ...]) -> Embedder:
        """The embedder, known to be the index's own."""
        with self._preparing:
            embedder = self._embedder
            if embedder is None or self._identity != identity or self._clock() > self._recheck:
                self._identity = None
                self._embedder = embedder = self._make(identity)
                if embedder is None:
                    raise EmbedderAway("This index has no vectors.", "")
                _check(embedder, identity, reference)
                self._identity, self._recheck = identity, self._clock() + RECHECK
            return embedder


def _check(embedder: Embedder, identity: EmbedderIdentity, reference: tuple[float, ...]) -> None:
    now = embedder.identity
    if not now.matches(identity):
        what = f"{now.label} is not the embedder that this index was built with."
        raise EmbedderChanged(what, "Run ingest.py --rebuild.")
    if not reference:
        return
    cosine = similarity(canary_vector(embedder), reference)
    if cosine < SAME_EMBEDDER:
        what = f"The embedder's vectors no longer match this index ({now.label}, {cosine:.2f})."
        raise EmbedderChanged(what, "Run ingest.py --rebuild.")
