"""What all embedders have in common: texts in, unit vectors out, an identity that they declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from local_rag.chunking.sizes import ChunkBudget, TokenStarts
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import TextRejected

Vector = NDArray[np.float32]
"""A unit vector, shape (dimension,)."""
NORM_TOLERANCE = 1e-3  # how far from 1 the length of a stored or returned unit vector may be


@dataclass(frozen=True)
class Sizing:
    """How chunks are measured for a model, known even while its embedder is down."""

    budget: ChunkBudget
    token_starts: TokenStarts


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Both embedding methods raise `EmbedderAway`, `TextTooLong` or `TextRejected`. The last two
    concern at least one of the texts, without saying which.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """The embedder's identity, asked for if need be. Raises `EmbedderAway`."""

    @property
    def sizing(self) -> Sizing:
        """The chunk sizes that suit this model."""

    @property
    def batch_size(self) -> int:
        """The maximum number of texts per batch."""

    @property
    def batch_tokens(self) -> float:
        """The maximum number of tokens per batch of several texts."""

    @property
    def languages(self) -> frozenset[str] | None:
        """ISO 639-1 codes of the languages it was trained for; None for many."""

    @property
    def name(self) -> str:
        """What a person calls it, and where it runs."""

    def is_up(self, seconds: float) -> bool:
        """Whether it responds to a ping within `seconds`, even while busy or loading."""

    def embed_documents(self, passages: Sequence[EmbeddingInput]) -> list[Vector]:
        """One unit vector for each passage, in order."""

    def embed_query(self, query: str) -> Vector:
        """The unit vector of a question. A long one is cut to the embedder's limit."""


def checked_vectors(
    vectors: Sequence[Sequence[float]], count: int, dimension: int | None
) -> list[Vector]:
    """`vectors` as unit float32 arrays, if they can be trusted.

    Raises:
        TextRejected: wrong count or dimension, a value that is not finite, or a norm that is not
            1 within `NORM_TOLERANCE` (an embedder that fails internally returns zeros with
            success).
    """
    if len(vectors) != count:
        raise TextRejected(f"The embedder returned {len(vectors)} vectors for {count} texts.", "")
    try:
        rows = [np.asarray(vector, dtype=np.float32) for vector in vectors]
    except (TypeError, ValueError):
        raise TextRejected("The embedder returned something that is not a vector.", "") from None
    for row in rows:
        if row.ndim != 1 or (dimension is not None and row.shape != (dimension,)):
            raise TextRejected(f"The embedder returned a vector of shape {row.shape}.", "")
        if not np.isfinite(row).all() or abs(float(np.linalg.norm(row)) - 1) > NORM_TOLERANCE:
            raise TextRejected("The embedder returned a vector that is not of length 1.", "")
    return rows
