"""Serves the text of an indexed document in pages, never anything else.

What is served is the text as it was indexed, so that line numbers are those of the hits. Pages
follow on without a gap: put together they are the whole text. Reads no file.
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

    `rest` is where to go on, if the page ended before what was asked for did; its column is not
    1 where the page ended within a line.
    """

    first: Place
    last: int
    lines: int
    text: str
    rest: Place | None = None


def read_page(text: str, start: Place, end: int | None, room: int) -> Page:
    """As much of `text` from `start` to the end of line `end` as takes `room` bytes.

    It ends at the end of a line, unless one line takes more than there is room for.

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
