"""A page of a document as the answer of `get_file`: its place, its state, the call that goes on.

A page's `text` is the indexed text without the characters that `safe_text` strips (controls,
direction overrides, the CR of CR LF). Such a character never matters to where a page ends, so the
texts of all pages put together are `safe_text` of the whole.
"""

from __future__ import annotations

from local_rag.answers_files import FileArguments, FileResult
from local_rag.catalog import FileRecord
from local_rag.display import one_line, safe_text, spelled_call
from local_rag.finding import find_file, shown
from local_rag.fitting import ANSWER, TITLE, said, shorten, size
from local_rag.freshness import State, state_of
from local_rag.live import OpenIndex
from local_rag.reading import Page, Place, read_page
from local_rag.shown import notices_of, retired, title_of

LEAST = 1_000  # bytes of text on a page, even where the path leaves less
NUMBERS = 120  # bytes that line numbers and the next call's arguments may take


def file_result(index: OpenIndex, arguments: FileArguments) -> FileResult:
    """A page of an indexed document.

    Raises:
        DocumentNotFound: no such document is indexed.
        PathRefused: its path leads elsewhere now.
        BadArgument: the document has no such lines.
    """
    file = find_file(index, arguments.path)
    state = state_of(index, file)
    start = Place(max(1, arguments.start_line), max(1, arguments.start_column))
    empty = Page(start, start.line, 0, "", Place(1, 2))
    notices = [*index.first_notices, *_clamped(arguments), *banner(file, state)]
    frame = _result(file, state, empty, notices, arguments.end_line)
    taken = max(size(frame.lean()), size(frame.markdown())) + NUMBERS
    text = index.catalog.text(file.number)
    page = read_page(text, start, arguments.end_line, max(LEAST, ANSWER - taken))
    return _result(file, state, page, notices, arguments.end_line)


def _clamped(arguments: FileArguments) -> list[str]:
    return [
        f"{name} {said(value)} is out of range: 1 taken."
        for name, value in (
            ("start_line", arguments.start_line),
            ("start_column", arguments.start_column),
        )
        if value < 1
    ]


def banner(file: FileRecord, state: State) -> list[str]:
    """What a reader has to know first: that the document is retired, or no longer current."""
    notices = []
    if file.lifecycle == "superseded":
        by = f" by {shorten(one_line(file.superseded_by), TITLE)}" if file.superseded_by else ""
        notices.append(f"This document is superseded{by}; do not rely on it.")
    if state == "gone":
        notices.append("The file is gone from disk; this is its text as indexed.")
    if state == "changed":
        notices.append("The file has changed since; this is its text as indexed.")
    return notices


def _result(
    file: FileRecord, state: State, page: Page, notices: list[str], end: int | None
) -> FileResult:
    column = page.first.column
    return FileResult(
        root=file.root,
        path=one_line(file.path),
        title=title_of(file),
        lifecycle=file.lifecycle,
        superseded_by=retired(file).get("superseded_by"),
        start_line=page.first.line,
        start_column=column if column > 1 else None,
        end_line=page.last,
        total_lines=page.lines,
        state=state,
        notices=notices_of(notices),
        text=safe_text(page.text),
        next_call=_next_call(file, page.rest, end) if page.rest else None,
    )


def _next_call(file: FileRecord, place: Place, end: int | None) -> str:
    return spelled_call(
        "get_file",
        path=shown((file.root, file.path)),
        start_line=place.line,
        end_line=end,
        start_column=place.column if place.column > 1 else None,
    )
