"""Measures text as it is sent in an answer, and cuts it to size. Pure.

Sizes are bytes of JSON, as a client receives them.
"""

from __future__ import annotations

import json
from typing import Any

LONG_NUMBER = 10**12


def json_size(value: Any) -> int:
    """The bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def answer_cost(text: str) -> int:
    """The bytes of `text` that cover both forms of an answer: JSON, and quoted line by line."""
    return json_size(text) - 2 + 2 * text.count("\n")


def fit_prefix(text: str, room: int) -> str:
    """The longest prefix of `text` that takes at most `room` bytes."""
    low, high = 0, min(len(text), max(room, 0))
    if answer_cost(text[:high]) <= room:
        return text[:high]
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if answer_cost(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` bytes, with an ellipsis if it was cut."""
    kept = fit_prefix(text, room)
    return kept if kept == text else fit_prefix(text, room - 3) + "…"


def echo_number(number: int, large: str = "that large") -> str:
    """A client's number as an answer repeats it: `large` in place of very many digits."""
    return str(number) if abs(number) < LONG_NUMBER else large
