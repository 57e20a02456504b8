"""From ranked chunks to one page of passages: neighbours merged, no file fills the page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from local_rag.index.catalog import ChunkRecord
from local_rag.search.fusion import Fused

MOST_OF_A_FILE = 3  # passages of one file on a page
MOST_MERGED = 2  # chunks in one passage: with more, fewer answers are whole (docs/measurements.md)


@dataclass(frozen=True)
class Passage:
    """One or more neighbouring chunks of a file. `best` is the one that ranked first."""

    file: int
    best: Fused
    chunk: ChunkRecord
    start: int
    end: int
    first_line: int
    merged: int = 1


class _Page:
    """A page that is being filled."""

    def __init__(self, limit: int) -> None:
        self.found: list[Passage] = []
        self._limit = limit
        self._spans: list[tuple[int, int]] = []  # first and last ordinal of each passage

    def join(self, chunk: ChunkRecord, place: int) -> bool:
        """Adds a chunk to the passage next to it, if there is one with room."""
        for i, passage in enumerate(self.found):
            first, last = self._spans[i]
            beside = place in (first - 1, last + 1)
            if passage.file == chunk.file and beside and passage.merged < MOST_MERGED:
                self.found[i] = replace(
                    passage,
                    start=min(passage.start, chunk.start),
                    end=max(passage.end, chunk.end),
                    first_line=min(passage.first_line, chunk.first_line),
                    merged=passage.merged + 1,
                )
                self._spans[i] = (min(first, place), max(last, place))
                return True
        return False

    def add(self, fused: Fused, chunk: ChunkRecord, place: int, most: int) -> bool:
        """Adds a new passage, if the page has room and the file has not had its share."""
        taken = sum(passage.file == chunk.file for passage in self.found)
        if len(self.found) == self._limit or taken >= most:
            return False
        self.found.append(
            Passage(chunk.file, fused, chunk, chunk.start, chunk.end, chunk.first_line)
        )
        self._spans.append((place, place))
        return True


def passages(
    ranked: Sequence[Fused],
    chunks: Mapping[str, ChunkRecord],
    ordinals: Mapping[str, int],
    limit: int,
) -> list[Passage]:
    """Up to `limit` passages in the order of their best chunk.

    A chunk joins the passage next to it by `ordinals` (each chunk's place in its file). One file
    has at most `MOST_OF_A_FILE` passages, unless the page would not be full otherwise.
    """
    page, left = _Page(limit), []
    for fused in ranked:
        chunk, place = chunks[fused.id], ordinals[fused.id]
        if not page.join(chunk, place) and not page.add(fused, chunk, place, MOST_OF_A_FILE):
            left.append((fused, chunk, place))
    for fused, chunk, place in left:
        page.add(fused, chunk, place, limit)
    return page.found
