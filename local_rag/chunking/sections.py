"""A document's sections: its body cut before every heading and page, with the heading trail."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from local_rag.documents.document import Document
from local_rag.documents.markup import Block


@dataclass(frozen=True)
class Section:
    """Characters `start` to `end` under the headings of `trail`."""

    start: int
    end: int
    trail: tuple[str, ...]
    edges: tuple[int, ...]  # where its blocks start


@dataclass(frozen=True)
class TableSpan:
    """A table, whose header ends at `head_end`."""

    start: int
    end: int
    head_end: int


def sections_of(document: Document) -> tuple[list[Section], list[TableSpan]]:
    """The body cut before every heading and page, and its tables.

    Text before the first heading is a section of its own.
    """
    text, start = document.text, document.body_start
    found = document.blocks or [Block(start, len(text))]
    tables = [TableSpan(b.start, b.end, b.head_end) for b in found if b.head_end]
    groups: list[list[Block]] = [[]]
    for block in found:
        if block.level and groups[-1]:
            groups.append([])
        groups[-1].append(block)
    borders = [start, *(group[0].start for group in groups[1:]), len(text)]
    trails = _trails([group[0] for group in groups])
    sections = [
        Section(borders[i], borders[i + 1], trails[i], _edges(group))
        for i, group in enumerate(groups)
    ]
    return _cut_at_pages(sections, [offset for offset, _ in document.pages]), tables


def _cut_at_pages(sections: list[Section], pages: list[int]) -> list[Section]:
    cut = []
    for section in sections:
        inside = _between(pages, section.start, section.end)
        for first, last in pairwise([section.start, *inside, section.end]):
            edges = tuple(_between(section.edges, first, last))
            cut.append(Section(first, last, section.trail, edges))
    return cut


def _between(offsets: Sequence[int], first: int, last: int) -> Sequence[int]:
    """The ascending `offsets` that lie after `first` and before `last`."""
    start = bisect.bisect_right(offsets, first)
    return offsets[start : bisect.bisect_left(offsets, last, start)]


def _edges(group: list[Block]) -> tuple[int, ...]:
    """Where a section's blocks start, except the block right below a heading."""
    after_heading = [False, *(block.level > 0 for block in group)]
    return tuple(b.start for b, follows in zip(group, after_heading, strict=False) if not follows)


def _trails(firsts: list[Block]) -> list[tuple[str, ...]]:
    open_headings: list[Block] = []
    trails = []
    for block in firsts:
        if block.level:
            open_headings = [h for h in open_headings if h.level < block.level] + [block]
        trails.append(tuple(h.heading for h in open_headings if h.heading))
    return trails
