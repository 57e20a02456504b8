"""A document's table of contents: its headings, or its pages and the like, with their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from local_rag.catalog import ChunkRecord
from local_rag.formats import TEXT, format_of
from local_rag.front_matter import split_front_matter
from local_rag.structure import Block, blocks


@dataclass(frozen=True)
class Entry:
    """A heading of a level from 1, and the lines from it to the next of its level or above."""

    level: int
    heading: str
    first_line: int
    last_line: int


def contents(path: str, text: str, chunks: Iterable[ChunkRecord]) -> list[Entry]:
    """The headings of a document's indexed text; where it has none, its chunks' labels."""
    kind = format_of(path) or TEXT
    start = split_front_matter(text)[1] if kind.front_matter else 0
    headings = [block for block in blocks(text[start:], kind.syntax) if block.heading]
    return list(_headings(text, start, headings)) or list(_labels(chunks))


def _headings(text: str, start: int, headings: list[Block]) -> Iterator[Entry]:
    lines, at = [], 0
    line = 1
    for block in headings:
        line += text.count("\n", at, start + block.start)
        at = start + block.start
        lines.append(line)
    end = line + text.count("\n", at) - (text.endswith("\n"))
    lasts = [end] * len(headings)
    open_: list[int] = []
    for place, block in enumerate(headings):
        while open_ and headings[open_[-1]].level >= block.level:
            lasts[open_.pop()] = max(lines[place] - 1, 1)
        open_.append(place)
    for block, first, last in zip(headings, lines, lasts, strict=True):
        yield Entry(block.level, block.heading, first, max(first, last))


def _labels(chunks: Iterable[ChunkRecord]) -> Iterator[Entry]:
    last: Entry | None = None
    for chunk in chunks:
        if last and last.heading == chunk.label:
            last = Entry(1, last.heading, last.first_line, chunk.last_line)
            continue
        if last and last.heading:
            yield last
        last = Entry(1, chunk.label, chunk.first_line, chunk.last_line)
    if last and last.heading:
        yield last
