"""Finds a pattern in the lines of indexed texts, within a time limit.

RE2 runs expressions in linear time; it is an extra, loaded when first needed. The indexed texts are
searched, never the files: those may have changed or become secret, and reading them is no faster.
"""

from __future__ import annotations

import bisect
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from local_rag.errors import BadArgument
from local_rag.index.catalog import Catalog, FileRecord
from local_rag.text.lines import line_starts

GREP_SECONDS = 5.0
PIECE_CHARS = 100_000  # characters between two checks of the clock
# Bytes that RE2 may take for an expression; with 2 MB some took 20 times as long.
RE2_MEMORY = 8 << 20
INSTALL_RE2 = "Run: python -m pip install -r requirements/regex.txt. Or search without regex."
Spans = Callable[[str], Iterable[tuple[int, int]]]
"""Where a pattern is first in each line of a text, in order."""


@dataclass(frozen=True)
class LineMatch:
    """A matching line, counted from 1, and where in the text its first match is."""

    line: int
    start: int
    end: int


@dataclass
class GrepMatches:
    """Matches by file, up to the limit, and the counts of all."""

    files: list[tuple[FileRecord, str, list[LineMatch]]] = field(default_factory=list)
    total: int = 0
    total_files: int = 0
    searched: int = 0
    stopped: bool = False


def spans_of(pattern: str, *, regex: bool, case_sensitive: bool) -> Spans:
    """A function that finds `pattern` within lines.

    Raises:
        BadArgument: it is empty, spans lines, is malformed, or RE2 is not installed.
    """
    if not pattern:
        raise BadArgument("Argument 'pattern' is empty.", "Pass the text to find.")
    if regex:
        return _expression(pattern, case_sensitive)
    if "\n" in pattern:
        raise BadArgument("The pattern has a line break.", "Search for one line of it.")
    literal = re.compile(re.escape(pattern), 0 if case_sensitive else re.IGNORECASE)

    def spans(text: str) -> Iterator[tuple[int, int]]:
        start = 0
        while match := literal.search(text, start):
            yield match.span()
            start = text.find("\n", match.end()) + 1 or len(text) + 1

    return spans


def _expression(pattern: str, case_sensitive: bool) -> Spans:
    try:
        import re2
    except ImportError:
        raise BadArgument("Regular expressions need google-re2.", INSTALL_RE2) from None
    options = re2.Options()
    options.never_nl, options.log_errors, options.max_mem = True, False, RE2_MEMORY
    options.case_sensitive = case_sensitive
    try:
        compiled = re2.compile(f"(?m){pattern}".encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        what = f"The pattern is not a valid RE2 expression: {said.replace('(?m)', '', 1)}."
        raise BadArgument(what, "Fix the expression, or search without regex.") from None

    # RE2 works on UTF-8, and its wrapper encodes a text again at every search. `\C` is a byte.
    def spans(text: str) -> Iterator[tuple[int, int]]:
        data, start, known, place = text.encode(), 0, 0, 0
        while match := compiled.search(data, start):
            begin, end = match.span()
            place += len(data[known:begin].decode(errors="ignore"))
            yield place, place + len(data[begin:end].decode(errors="ignore"))
            known = begin
            start = data.find(b"\n", end) + 1 or len(data)
            if start == len(data):
                return

    return spans


def grep(
    catalog: Catalog,
    files: Iterable[FileRecord],
    spans: Spans,
    limit: int,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> GrepMatches:
    """The lines in which `spans` finds something: up to `limit` of them, and the counts of all."""
    found, deadline = GrepMatches(), clock() + GREP_SECONDS
    for file in files:
        text, kept, count = catalog.text(file.number), [], 0
        for match in _lines(text, spans, lambda: clock() > deadline):
            count += 1
            if found.total + count <= limit:
                kept.append(match)
        found.total, found.total_files = found.total + count, found.total_files + (count > 0)
        if kept:
            found.files.append((file, text, kept))
        if clock() > deadline:
            found.stopped = True
            break
        found.searched += 1
    return found


def _lines(text: str, spans: Spans, late: Callable[[], bool]) -> Iterator[LineMatch]:
    """The first match in each line, until time is up."""
    base, above = 0, 1
    while base < len(text) and not late():
        border = text.find("\n", base + PIECE_CHARS) + 1 or len(text)
        piece = text[base:border]
        starts = line_starts(piece)
        last = -1
        for start, end in spans(piece):
            line = bisect.bisect_right(starts, start) - 1
            if line != last and (start < len(piece) or not piece.endswith("\n")):
                yield LineMatch(above + line, base + start, base + end)
            if late():
                return
            last = line
        base, above = border, above + piece.count("\n")
