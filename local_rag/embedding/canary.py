"""Whether an embedder still embeds as it did: the vector of one known sentence, then and now.

The same weights can give other vectors after an update of the embedder. Never compare those
with older ones, neither in a search nor within an index.
"""

from __future__ import annotations

import numpy as np

from local_rag.embedding.base import Embedder, Vector
from local_rag.embedding.input import EmbeddingInput

CANARY = EmbeddingInput("", "The quick brown fox jumps over the lazy dog.")
# Cosines measured: the same text in another batch 0.9997, another quantisation 0.999, without
# the prefix 0.83.
SAME_EMBEDDER = 0.99


def canary_vector(embedder: Embedder) -> Vector:
    """The vector of the known sentence. Raises as `embed_documents` does."""
    return embedder.embed_documents([CANARY])[0]


def similarity(now: Vector, then: tuple[float, ...] | Vector) -> float:
    """The cosine of the two vectors; below `SAME_EMBEDDER` the embedder has changed."""
    before = np.asarray(then, dtype=np.float32)
    return float(np.dot(now, before)) if now.shape == before.shape else 0.0
