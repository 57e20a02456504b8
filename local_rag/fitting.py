"""How much room text takes in an answer, and text cut to the room that there is. Pure.

Sizes are bytes of JSON, as a client receives them. Leaves out what is worth showing (`snippets`).
"""

from __future__ import annotations

import json
from typing import Any

ANSWER = 8_000  # bytes of an answer to default arguments, structured or as text
LARGEST = 16_000  # bytes of an answer that was asked to be longer
TITLE = 120  # bytes of a title, a label or the name of a replacement
TRAIL = 300  # bytes of all headings above a passage
LONG_NUMBER = 10**12
NOTICE = 400  # bytes of one line that says what limits an answer


def size(value: Any) -> int:
    """Bytes that `value` takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def cost(text: str) -> int:
    """Bytes that `text` takes in either form of an answer: JSON, or quoted line by line."""
    return size(text) - 2 + 2 * text.count("\n")


def prefix(text: str, room: int) -> str:
    """As much of `text` from its beginning as takes at most `room` bytes."""
    low, high = 0, min(len(text), max(room, 0))
    if cost(text[:high]) <= room:
        return text[:high]
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` bytes, with an ellipsis where something is left out."""
    kept = prefix(text, room)
    return kept if kept == text else prefix(text, room - 3) + "…"


def said(number: int, large: str = "that large") -> str:
    """A number from a client as it is repeated to it: one of many digits says nothing."""
    return str(number) if abs(number) < LONG_NUMBER else large


def trail(headings: list[str]) -> list[str]:
    """Headings in the room that a trail has; the innermost tell most and are kept."""
    kept: list[str] = []
    left = TRAIL
    for heading in reversed(headings):
        short = shorten(heading, min(TITLE, left))
        left -= cost(short) + 4
        if left < 0:
            break
        kept.insert(0, short)
    return kept


def shared_room(sizes: list[int], room: int) -> list[int]:
    """`room` bytes shared out fairly: who needs less leaves the rest to the others."""
    shares, left = [0] * len(sizes), max(0, room)
    for served, i in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[i] = min(sizes[i], left // (len(sizes) - served))
        left -= shares[i]
    return shares


def ranked_room(sizes: list[int], room: int) -> list[int]:
    """`room` bytes shared out from the first on: each its size, up to 2.5 times an even share.

    Those after it keep a third of an even share at least, as far as they need it.
    """
    even, left = max(0, room) // max(1, len(sizes)), max(0, room)
    shares: list[int] = []
    for i, size_ in enumerate(sizes):
        kept = sum(min(later, even // 3) for later in sizes[i + 1 :])
        shares.append(max(0, min(size_, even * 5 // 2, left - kept)))
        left -= shares[-1]
    return shares
