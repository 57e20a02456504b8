"""Where the lines of a text start. Only `\n` ends a line, as everywhere in this program."""

from __future__ import annotations

import re


def line_starts(text: str) -> list[int]:
    """The offset of every line's first character."""
    return [0, *(match.end() for match in re.finditer("\n", text))]
