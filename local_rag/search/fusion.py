"""Fuses two ranked lists into one. Pure.

Min-max weighted fusion: each list's scores are mapped to 0..1 (its worst to 0, its best to 1) and
added with weights. Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval"
(ACM TOIS 2023) show why it beats reciprocal rank fusion. BM25 is squared first: many
chunks share some of a question's words and matter little beside the few that contain most of them.
docs/measurements.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

NOTHING: Mapping[str, float] = MappingProxyType({})
# By embedder kind; the keyword arm gets the rest. docs/measurements.md has other values.
SEMANTIC_WEIGHTS = {"ollama": 0.65, "builtin": 0.5}


@dataclass(frozen=True)
class Fused:
    """A chunk in the fused order: its `score` from 0 to 1, and what that is made of.

    `cosine` is None if vectors were not searched, `keyword_rank` (from 1) if no word matches.
    """

    id: str
    score: float
    cosine: float | None
    keyword_rank: int | None


def fuse(
    cosines: Mapping[str, float],
    bm25: Mapping[str, float],
    semantic_weight: float,
    bonus: Mapping[str, float] = NOTHING,
) -> list[Fused]:
    """All chunks of both lists, best first; ties by id, so that the order is stable.

    A `bonus` of 0 or more is added to a chunk's score before all are scaled to 0..1 again.
    """
    full = 1 + max(bonus.values(), default=0.0)
    ranks = {id_: rank for rank, id_ in enumerate(sorted(bm25, key=lambda i: (-bm25[i], i)), 1)}
    near = _scaled(cosines)
    words = {id_: share**2 for id_, share in _scaled(bm25).items()}
    fused = [
        Fused(
            id_,
            (
                semantic_weight * near.get(id_, 0.0)
                + (1 - semantic_weight) * words.get(id_, 0.0)
                + bonus.get(id_, 0.0)
            )
            / full,
            cosines.get(id_),
            ranks.get(id_),
        )
        for id_ in cosines.keys() | bm25.keys()
    ]
    return sorted(fused, key=lambda f: (-f.score, f.id))


def _scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score between 0 (the list's worst) and 1; a list of equal scores is all 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {id_: (s - low) / (high - low) if high > low else 1.0 for id_, s in scores.items()}
