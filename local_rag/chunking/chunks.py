"""Cuts a document into chunks: exact slices of its body, with heading trail and line range.

Chunks never overlap and omit only blank space between them, so a file's text can be rebuilt from
them by position. Sizes are in tokens of whatever counter is passed in.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from local_rag.chunking.sections import Section, TableSpan, sections_of
from local_rag.chunking.sizes import ChunkBudget, TokenStarts
from local_rag.documents.document import Document, label_at
from local_rag.text.lines import line_starts

Span = tuple[int, int]
LONGEST_CONTEXT = 400  # characters of a table's header that is repeated
IMAGE = re.compile(
    r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=%]+(?:\r?\n[ \t]*[A-Za-z0-9+/=]{60,})*"
)


@dataclass(frozen=True)
class Chunk:
    """Characters `start` to `end` of the document's text; lines count from 1, both inclusive.

    `label` is its page or the like. `context` is the header of a table whose later rows it holds:
    not part of the chunk, but indexed with it.
    """

    text: str
    start: int
    end: int
    first_line: int
    last_line: int
    headings: tuple[str, ...]
    label: str = ""
    context: str = ""

    @property
    def indexed(self) -> str:
        """The text that is embedded and indexed: without image data, with the context."""
        text = IMAGE.sub("", self.text)
        return f"{self.context}\n{text}" if self.context else text


class _Ruler:
    """Counts tokens in any span of one text, and finds where a given number of them ends."""

    def __init__(self, text: str, token_starts: TokenStarts) -> None:
        self.text = text
        # Images are not embedded, so they take no room.
        self._starts = list(token_starts(IMAGE.sub(lambda match: " " * len(match[0]), text)))

    def size(self, span: Span) -> int:
        return bisect.bisect_left(self._starts, span[1]) - bisect.bisect_left(self._starts, span[0])

    def cut(self, span: Span, tokens: int) -> int:
        """The offset after the first `tokens` tokens of `span`, at least one character in."""
        index = bisect.bisect_left(self._starts, span[0]) + tokens
        end = self._starts[index] if index < len(self._starts) else span[1]
        return min(max(end, span[0] + 1), span[1])


def chunk_document(
    document: Document, budget: ChunkBudget, token_starts: TokenStarts
) -> list[Chunk]:
    """The chunks of a document's body, in order. A blank body has none."""
    ruler = _Ruler(document.text, token_starts)
    body = (document.body_start, len(document.text))
    if _is_one_chunk(document, budget, ruler.size(body)):
        return _finish(document, [(body, ())], [])
    sections, tables = sections_of(document)
    if document.chunking != "headings":
        sections = _merge_small(sections, budget, ruler)
    target = min(budget.hard, budget.target)
    spans = [(span, s.trail) for s in sections for span in _divide(s, target, budget, ruler)]
    return _finish(document, spans, tables)


def _is_one_chunk(document: Document, budget: ChunkBudget, size: int) -> bool:
    if document.chunking == "whole":
        return size <= budget.hard
    is_paged = len(document.pages) > 1
    return document.chunking == "auto" and not is_paged and size <= min(budget.whole, budget.hard)


def halve(chunk: Chunk, text: str) -> list[Chunk]:
    """`chunk` as two or more chunks of about half the size, for an embedder that rejected it.

    Raises:
        ValueError: the chunk is a single character.
    """
    if len(chunk.text) < 2:
        raise ValueError("a single character cannot be split")
    ruler = _Ruler(text, lambda whole: range(len(whole)))
    size = (len(chunk.text) + 1) // 2
    pieces = _break_down((chunk.start, chunk.end), (), size, ruler)
    spans = [(span, chunk.headings) for span in _pack(pieces, size, ruler)]
    halves = _finish(Document(text), spans, [])
    return [replace(half, label=chunk.label, context=chunk.context) for half in halves]


def _merge_small(sections: list[Section], budget: ChunkBudget, ruler: _Ruler) -> list[Section]:
    """Joins neighbours while one of them is small and together they fit the target."""
    merged = sections[:1]
    for section in sections[1:]:
        last = merged[-1]
        sizes = ruler.size((last.start, last.end)), ruler.size((section.start, section.end))
        if min(sizes) < budget.small and sum(sizes) <= budget.target:
            trail = tuple(a for a, b in zip(last.trail, section.trail, strict=False) if a == b)
            edges = last.edges + section.edges
            merged[-1] = Section(last.start, section.end, trail, edges)
        else:
            merged.append(section)
    return merged


def _divide(section: Section, target: int, budget: ChunkBudget, ruler: _Ruler) -> list[Span]:
    """The section as spans of about `target` tokens; slightly more rather than a small rest."""
    span = (section.start, section.end)
    size = ruler.size(span)
    if size <= min(budget.hard, target + budget.small):
        return [span]
    parts = -(-size // target)
    goal = min(target, -(-size // parts) + budget.small // 2)
    return _pack(_break_down(span, section.edges, goal, ruler), goal, ruler)


def _break_down(span: Span, edges: Sequence[int], goal: int, ruler: _Ruler) -> list[Span]:
    """Pieces of at most `goal` tokens: blocks if they fit, else lines, sentences, words."""
    cuts: list[Callable[[Span], Iterator[int]]] = [
        lambda _: iter(edges),
        lambda s: _after(r"\n[ \t]*\n\s*", s, ruler.text),
        lambda s: _after(r"\n", s, ruler.text),
        # From the first of several marks on: `.....` of 20 KB took 22 s when each was tried.
        lambda s: _after(r"(?<![.!?…])[.!?…]+[\"')\]»”]*\s+|[。！？]+", s, ruler.text),
        lambda s: _after(r"\s+", s, ruler.text),
    ]
    pieces = [span]
    for cut in cuts:
        uncut, pieces = pieces, []
        for start, end in uncut:
            large = ruler.size((start, end)) > goal
            inside = [o for o in cut((start, end)) if start < o < end] if large else []
            pieces += pairwise([start, *inside, end])
    return [part for piece in pieces for part in _by_tokens(piece, goal, ruler)]


def _after(pattern: str, span: Span, text: str) -> Iterator[int]:
    return (match.end() for match in re.compile(pattern).finditer(text, *span))


def _by_tokens(span: Span, goal: int, ruler: _Ruler) -> Iterator[Span]:
    start, end = span
    while ruler.size((start, end)) > goal:
        border = ruler.cut((start, end), goal)
        yield start, border
        start = border
    yield start, end


def _pack(pieces: list[Span], goal: int, ruler: _Ruler) -> list[Span]:
    packed: list[Span] = []
    for piece in pieces:
        if packed and ruler.size((packed[-1][0], piece[1])) <= goal:
            packed[-1] = (packed[-1][0], piece[1])
        else:
            packed.append(piece)
    return packed


def _finish(
    document: Document, spans: Sequence[tuple[Span, tuple[str, ...]]], tables: Sequence[TableSpan]
) -> list[Chunk]:
    text = document.text
    starts = line_starts(text)
    chunks = []
    for (first, last), trail in spans:
        piece = text[first:last]
        if not piece.strip():
            continue
        start = first + len(piece) - len(piece.lstrip())
        end = last - (len(piece) - len(piece.rstrip()))
        lines = bisect.bisect_right(starts, start), bisect.bisect_right(starts, end - 1)
        label, last_label = label_at(document, start), label_at(document, end - 1)
        if last_label != label:  # small pages in one chunk: `page 3-5`
            label = f"{label}-{last_label.rpartition(' ')[2]}"
        context = _context(text, start, tables)
        chunks.append(Chunk(text[start:end], start, end, *lines, trail, label, context))
    return chunks


def _context(text: str, start: int, tables: Sequence[TableSpan]) -> str:
    """The header of the table in whose later rows a chunk starts."""
    index = bisect.bisect_right(tables, start, key=lambda table: table.start) - 1
    if index < 0 or not tables[index].head_end <= start < tables[index].end:
        return ""
    header = text[tables[index].start : tables[index].head_end].strip()
    return header if len(header) <= LONGEST_CONTEXT else ""
