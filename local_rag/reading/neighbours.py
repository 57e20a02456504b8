"""Whole chunks with their neighbours, as stretches of their documents' text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from local_rag.index.catalog import ChunkRecord, FileRecord
from local_rag.index.live_index import OpenIndex


@dataclass(frozen=True)
class ChunkRun:
    """Characters `start` to `end` of a file's text; `hit` is where the first asked chunk starts.

    Adjacent chunks make one stretch.
    """

    file: FileRecord
    ids: tuple[str, ...]
    headings: tuple[str, ...]
    label: str
    start: int
    end: int
    hit: int


@dataclass(frozen=True)
class FetchedRuns:
    """Stretches in the order asked, each file's together; and the ids that no longer exist."""

    stretches: tuple[ChunkRun, ...]
    missing: tuple[str, ...]


def chunk_runs(index: OpenIndex, ids: Sequence[str], before: int, after: int) -> FetchedRuns:
    """The chunks with these ids, each with the given number of chunks before and after it."""
    asked = list(dict.fromkeys(ids))
    chunks = index.catalog.chunks(asked)
    files = dict.fromkeys(chunks[id_].file for id_ in asked if id_ in chunks)
    records = index.catalog.files_by_number(files)
    stretches = []
    for number in files:
        wanted = {id_ for id_, chunk in chunks.items() if chunk.file == number}
        in_order = index.catalog.chunks_of(number)
        stretches += _stretches(records[number], in_order, wanted, before, after)
    return FetchedRuns(tuple(stretches), tuple(id_ for id_ in asked if id_ not in chunks))


def _stretches(
    file: FileRecord, chunks: list[ChunkRecord], wanted: set[str], before: int, after: int
) -> list[ChunkRun]:
    places = [place for place, chunk in enumerate(chunks) if chunk.id in wanted]
    runs: list[list[int]] = []  # first, last, and first asked for
    for place in places:
        first, last = max(0, place - before), min(len(chunks) - 1, place + after)
        if runs and first <= runs[-1][1] + 1:
            runs[-1][1] = last
        else:
            runs.append([first, last, place])
    return [
        ChunkRun(
            file,
            tuple(chunk.id for chunk in chunks[first : last + 1] if chunk.id in wanted),
            chunks[hit].headings,
            chunks[hit].label,
            chunks[first].start,
            chunks[last].end,
            chunks[hit].start,
        )
        for first, last, hit in runs
    ]
