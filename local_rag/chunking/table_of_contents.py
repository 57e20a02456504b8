"""A document's table of contents: its headings, or its pages and the like, with their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_rag.chunking.chunks import Chunk
    from local_rag.documents.document import Document
    from local_rag.documents.markup import Block


@dataclass(frozen=True)
class HeadingRecord:
    """A heading, its level from 1, and its lines up to the next heading of its level or above."""

    level: int
    heading: str
    first_line: int
    last_line: int


def table_of_contents(document: Document, chunks: Iterable[Chunk]) -> list[HeadingRecord]:
    """The headings of a document; if it has none, its chunks' labels."""
    headings = [block for block in document.blocks if block.heading]
    return list(_headings(document.text, headings)) or list(_labels(chunks))


def _headings(text: str, headings: list[Block]) -> Iterator[HeadingRecord]:
    lines, at = [], 0
    line = 1
    for block in headings:
        line += text.count("\n", at, block.start)
        at = block.start
        lines.append(line)
    end = line + text.count("\n", at) - (text.endswith("\n"))
    lasts = [end] * len(headings)
    open_: list[int] = []
    for place, block in enumerate(headings):
        while open_ and headings[open_[-1]].level >= block.level:
            lasts[open_.pop()] = max(lines[place] - 1, 1)
        open_.append(place)
    for block, first, last in zip(headings, lines, lasts, strict=True):
        yield HeadingRecord(block.level, block.heading, first, max(first, last))


def _labels(chunks: Iterable[Chunk]) -> Iterator[HeadingRecord]:
    last: HeadingRecord | None = None
    for chunk in chunks:
        if last and last.heading == chunk.label:
            last = HeadingRecord(1, last.heading, last.first_line, chunk.last_line)
            continue
        if last and last.heading:
            yield last
        last = HeadingRecord(1, chunk.label, chunk.first_line, chunk.last_line)
    if last and last.heading:
        yield last
