"""`outline`: a document's headings with their lines, in pages."""

from __future__ import annotations

from pydantic import BaseModel, Field

from local_rag.index.live_index import OpenIndex
from local_rag.reading.find import display_name, find_file
from local_rag.reading.freshness import is_stale
from local_rag.text.sanitize import format_call, one_line
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer import Result, notice_lines
from local_rag.tools.answer_size import ANSWER_BYTES, TITLE_BYTES, display_title
from local_rag.tools.arguments import Arguments, NameArgument
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
The headings of a document with their line ranges (pages of a PDF). Use it to pick what to read with
get_file instead of reading a long document whole."""
NEXT_CALL_BYTES = 80  # bytes of the next call beside the path
MOST_HEADINGS = 200  # read for one answer, more than fit


class OutlineArguments(Arguments):
    """Arguments of `outline`."""

    path: NameArgument = Field(description="A path, as for get_file.")
    start_line: int = Field(1, description="Only headings from this line on.")


class OutlineEntry(BaseModel):
    """A heading, or a page or the like, with the lines under it."""

    level: int
    heading: str
    start_line: int
    end_line: int

    def markdown(self) -> str:
        """This as readable text."""
        indent = "  " * (self.level - 1)
        return f"{indent}- {self.heading} ({self.start_line}-{self.end_line})"


class OutlineResult(Result):
    """A document's headings in order. Read on with get_file and the lines of an entry."""

    root: str
    path: str
    title: str
    lifecycle: str
    stale: bool | None = None
    total_lines: int
    chunks: int
    entries: list[OutlineEntry]
    next_call: str | None = None

    def markdown(self) -> str:
        """This as readable text."""
        rest = [f"The rest: {self.next_call}"] if self.next_call else []
        stale = " [STALE]" if self.stale else ""
        head = f"{self.root}:{self.path} ({self.title}), {self.total_lines} lines{stale}"
        entries = [entry.markdown() for entry in self.entries]
        return "\n".join([head, *self.noticed(), *entries, *rest])


def outline(sources: Sources, arguments: OutlineArguments) -> OutlineResult:
    """The headings from a line on, as many as fit.

    Raises:
        DocumentNotFound: no such document is indexed.
    """
    with sources.live.use() as index:
        return _outline(index, arguments)


def _outline(index: OpenIndex, arguments: OutlineArguments) -> OutlineResult:
    file = find_file(index, arguments.path)
    text = index.catalog.text(file.number)
    entries = index.catalog.headings_of(file.number, arguments.start_line, MOST_HEADINGS)
    notices = list(index.first_notices)
    if not entries and index.catalog.headings_of(file.number, 1, 1):
        notices.append("No heading starts at or after that line.")
    elif not entries:
        notices.append("This document has no headings or pages; read it with get_file.")
    result = OutlineResult(
        root=file.root,
        path=one_line(file.path),
        title=display_title(file),
        lifecycle=file.lifecycle,
        stale=is_stale(index, file) or None,
        total_lines=text.count("\n") + (not text.endswith("\n")),
        chunks=index.catalog.chunk_count(file.number),
        entries=[],
        notices=notice_lines(notices),
    )
    name = display_name((file.root, file.path))
    room = (
        ANSWER_BYTES
        - max(json_size(result.lean()), json_size(result.markdown()))
        - 2 * json_size(name)
        - NEXT_CALL_BYTES
    )
    for entry in entries:
        heading = shorten(one_line(entry.heading), TITLE_BYTES)
        added = OutlineEntry(
            level=entry.level, heading=heading,
            start_line=entry.first_line, end_line=entry.last_line,
        )  # fmt: skip
        room -= max(json_size(added.model_dump()), json_size(added.markdown())) + 4
        if room < 0 and result.entries:
            result.next_call = format_call("outline", path=name, start_line=entry.first_line)
            break
        result.entries.append(added)
    return result


TOOL = Tool("outline", DESCRIPTION, OutlineArguments, OutlineResult, outline)
