"""`get_file`: a page of an indexed document, by path.

A page's `text` is the indexed text without the characters that `safe_text` strips (controls,
direction overrides, the CR of CR LF). Such a character never decides where a page ends, so the
texts of all pages put together are `safe_text` of the whole.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from local_rag.index.catalog import FileRecord
from local_rag.reading.find import display_name, find_file
from local_rag.reading.freshness import State, state_of
from local_rag.reading.paging import Page, Place, read_page
from local_rag.text.sanitize import format_call, one_line, safe_text
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer import Result, lifecycle_fields, notice_lines
from local_rag.tools.answer_size import ANSWER_BYTES, TITLE_BYTES, display_title
from local_rag.tools.arguments import Arguments, NameArgument, clamped
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
Read an indexed document from the start or from a given line, by path, root:path or a unique file
name. Long documents come in pages; next_call reads the next one. The text is as indexed; state says
whether the file on disk has changed since or is gone."""
LEAST_PAGE_BYTES = 1_000  # bytes of text on a page, even where the path leaves less
NEXT_CALL_BYTES = 120  # bytes that line numbers and the next call's arguments may take


class FileArguments(Arguments):
    """Arguments of `get_file`."""

    path: NameArgument = Field(
        description="A path, root:path, or a unique file name or end of a path."
    )
    start_line: int = Field(1, description="First line, counted from 1.")
    end_line: int | None = Field(None, description="Last line; by default the end of the file.")
    start_column: int = Field(
        1,
        description="Column to start at in the first line; next_call sets it in long lines.",
    )


class FileResult(Result):
    """A page of a document as indexed. `state` says whether the file on disk is still the same.

    The pages that `next_call` leads through add up to the whole text.
    """

    root: str
    path: str
    title: str
    lifecycle: str
    superseded_by: str | None = None
    start_line: int
    start_column: int | None = None
    end_line: int
    total_lines: int
    state: Literal["current", "changed", "gone"]
    text: str
    next_call: str | None = None

    def markdown(self) -> str:
        """This as readable text."""
        head = f"{self.root}:{self.path} lines {self.start_line}-{self.end_line}"
        rest = [f"The rest: {self.next_call}"] if self.next_call else []
        parts = [f"{head} of {self.total_lines}", *self.noticed(), "", self.text, *rest]
        return "\n".join(parts)


def get_file(sources: Sources, arguments: FileArguments) -> FileResult:
    """A page of an indexed document.

    Raises:
        DocumentNotFound: no such document is indexed.
        PathRefused: its path leads elsewhere now.
        BadArgument: the document has no such lines.
    """
    line = clamped("start_line", arguments.start_line, 1)
    column = clamped("start_column", arguments.start_column, 1)
    start = Place(line.value, column.value)
    with sources.live.use() as index:
        file = find_file(index, arguments.path)
        state = state_of(index, file)
        text = index.catalog.text(file.number)
        notices = [*index.first_notices, *line.notices, *column.notices, *banner(file, state)]
    empty = Page(start, start.line, 0, "", Place(1, 2))
    frame = _result(file, state, empty, notices, arguments.end_line)
    taken = max(json_size(frame.lean()), json_size(frame.markdown())) + NEXT_CALL_BYTES
    page = read_page(text, start, arguments.end_line, max(LEAST_PAGE_BYTES, ANSWER_BYTES - taken))
    return _result(file, state, page, notices, arguments.end_line)


def banner(file: FileRecord, state: State) -> list[str]:
    """What a reader must know first: the document is superseded or no longer current."""
    notices = []
    if file.lifecycle == "superseded":
        by = (
            f" by {shorten(one_line(file.superseded_by), TITLE_BYTES)}"
            if file.superseded_by
            else ""
        )
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
        title=display_title(file),
        lifecycle=file.lifecycle,
        superseded_by=lifecycle_fields(file).get("superseded_by"),
        start_line=page.first.line,
        start_column=column if column > 1 else None,
        end_line=page.last,
        total_lines=page.lines,
        state=state,
        notices=notice_lines(notices),
        text=safe_text(page.text),
        next_call=call_from(file, page.rest, end) if page.rest else None,
    )


def call_from(file: FileRecord, place: Place, end: int | None = None) -> str:
    """The call that reads a document from `place` on, to line `end` or to its end."""
    return format_call(
        "get_file",
        path=display_name((file.root, file.path)),
        start_line=place.line,
        end_line=end,
        start_column=place.column if place.column > 1 else None,
    )


TOOL = Tool("get_file", DESCRIPTION, FileArguments, FileResult, get_file)
