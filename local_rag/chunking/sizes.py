"""How large chunks may be for each kind of embedder, known even while it is down. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ChunkBudget:
    """Chunk sizes in tokens.

    A document of up to `whole` stays one chunk. Otherwise chunks aim at `target`, and pieces under
    `small` join their neighbours. None is larger than `hard`, the embedder's own limit.
    """

    target: int
    small: int
    whole: int
    hard: int


ESTIMATED_BUDGET = ChunkBudget(target=320, small=80, whole=420, hard=1400)
# 222 of text, 32 of the title slot, and [CLS] and [SEP] make the 256 tokens of the built-in model.
COUNTED_BUDGET = ChunkBudget(target=180, small=48, whole=222, hard=222)


def budget_of(kind: str) -> ChunkBudget:
    """The chunk sizes for an index with an embedder of that kind."""
    return COUNTED_BUDGET if kind == "builtin" else ESTIMATED_BUDGET


TokenStarts = Callable[[str], Sequence[int]]
"""The character offset at which each token of a text starts, ascending."""
