"""Cuts the text of an indexed document into pages. Reads no file.

The text is as indexed, so line numbers agree with those of hits. Pages join without a gap: together
they are the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass

from local_rag.errors import BadArgument
from local_rag.text.lines import line_starts
from local_rag.text.trim import echo_number, fit_prefix


@dataclass(frozen=True)
class Place:
    """A line, and a character in it, both counted from 1."""

    line: int
    column: int = 1


@dataclass(frozen=True)
class Page:
    """Text of a document of `lines` lines, from `first` on. `last` is the last line shown.

    `rest` is where to continue, if the page ended early; its column is not 1 if the page ended
    within a line.
    """

    first: Place
    last: int
    lines: int
    text: str
    rest: Place | None = None


def read_page(text: str, start: Place, end: int | None, room: int) -> Page:
    """The text from `start` to the end of line `end`, as far as it takes at most `room` bytes.

    A page ends at the end of a line, unless a single line is longer than the room.

    Raises:
        BadArgument: there is no such place.
    """
    starts = line_starts(text)
    lines = len(starts) - (text.endswith("\n") or not text)
    starts.append(len(text))
    last = min(end or lines, lines)
    if not lines:
        return Page(start, 0, 0, "")
    _check(starts, lines, start, end)
    begin, stop = starts[start.line - 1] + start.column - 1, starts[last]
    ready = begin + len(fit_prefix(text[begin : min(stop, begin + room)], room))
    if ready == stop:
        return Page(start, last, lines, text[begin:stop])
    border = text.rfind("\n", begin, ready) + 1
    if border:
        line = start.line + text.count("\n", begin, border)
        return Page(start, line - 1, lines, text[begin:border], Place(line))
    column = start.column + ready - begin
    return Page(start, start.line, lines, text[begin:ready], Place(start.line, column))


def _check(starts: list[int], lines: int, start: Place, end: int | None) -> None:
    if start.line > lines:
        raise BadArgument(
            f"The document has {lines} lines, not {echo_number(start.line, 'so many')}.",
            "Ask for less.",
        )
    if end is not None and end < start.line:
        what = f"end_line {echo_number(end, 'so low')} is before start_line {start.line}."
        raise BadArgument(what, "Swap them.")
    length = starts[start.line] - starts[start.line - 1]
    if start.column > max(1, length):
        asked = echo_number(start.column, "so many")
        what = f"Line {start.line} has {length} characters, not {asked}."
        raise BadArgument(what, "Ask for less.")


def place_of(text: str, offset: int) -> Place:
    """The line and column of a character."""
    return Place(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
