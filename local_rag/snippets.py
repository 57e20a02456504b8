"""The part of a passage worth showing: whole lines and sentences around what answers. Pure.

Leaves out which passage is shown; the scores of its sentences come from outside where no word of
the query is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

Span = tuple[int, int]

# Ends of lines, and of sentences within a line. Trailing blanks belong to the unit before them.
BORDER = re.compile(r"\n+|(?<=[.!?…])[\"')\]»”*_]*[ \t]+|(?<=[。！？])")
LONGEST_UNIT = 400  # characters; a longer one without a border is cut between words


def units(text: str) -> list[Span]:
    """`text` as consecutive spans that a reader takes for one: lines, sentences, or long pieces."""
    borders = [0, *(m.end() for m in BORDER.finditer(text)), len(text)]
    spans = [(a, b) for a, b in pairwise(borders) if b > a]
    return [piece for span in spans for piece in _cut(text, span)]


def _cut(text: str, span: Span) -> list[Span]:
    pieces, (start, end) = [], span
    while end - start > LONGEST_UNIT:
        blank = text.rfind(" ", start + LONGEST_UNIT // 2, start + LONGEST_UNIT)
        border = blank + 1 if blank > 0 else start + LONGEST_UNIT
        pieces.append((start, border))
        start = border
    return [*pieces, (start, end)]


def window(
    text: str,
    room: int,
    terms_of: Callable[[str], Collection[str]],
    weights: dict[str, float],
    nearest: Callable[[Sequence[str]], int] | None = None,
) -> Span:
    """The span of at most about `room` characters to show of `text`.

    It is the run of units with the greatest weight of different query terms (`weights`, found in
    a unit by `terms_of`), widened evenly. Where no term is in the text, `nearest` chooses among
    runs that cover it; without it the beginning is shown.
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
    spans: Sequence[Span], found: Sequence[set[str]], weights: dict[str, float], room: int
) -> tuple[int, int]:
    """The shortest run of units of the greatest weight that fits the room; the first of equals."""
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


def _covering_runs(spans: Sequence[Span], room: int) -> list[tuple[int, int]]:
    """Runs of at most the room, one after the other."""
    runs: list[tuple[int, int]] = []
    for i, (_, end) in enumerate(spans):
        if runs and end - spans[runs[-1][0]][0] <= room:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    return runs


def _widened(spans: Sequence[Span], first: int, last: int, room: int) -> Span:
    """The run with as many whole units on both sides as fit, as evenly as they do."""
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
