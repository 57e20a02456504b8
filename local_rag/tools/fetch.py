"""`fetch`: whole chunks by the ids of hits, with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from local_rag.errors import BadArgument
from local_rag.index.live_index import OpenIndex
from local_rag.reading.find import display_name
from local_rag.reading.freshness import Freshness
from local_rag.reading.neighbours import ChunkRun, FetchedRuns, chunk_runs
from local_rag.reading.paging import place_of
from local_rag.text.sanitize import format_call, one_line, safe_text
from local_rag.text.trim import answer_cost, fit_prefix, shorten
from local_rag.tools.answer import (
    LEAST_TEXT,
    Result,
    lifecycle_fields,
    notice_lines,
    quoted,
    room_for_texts,
)
from local_rag.tools.answer_size import (
    ANSWER_BYTES,
    TITLE_BYTES,
    display_title,
    heading_trail,
    shared_room,
)
from local_rag.tools.arguments import Arguments, clamped
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
Read hits whole: up to 10 ids from search_corpus at once, each with the given number of chunks
before and after it. Each document's text comes once, in document order, with lines to cite and the
call that reads on. An id that is no longer in the index is listed as missing: its document has
changed; search again."""
MOST_IDS = 10
MOST_NEIGHBOURS = 5
ID = re.compile("[0-9a-f]{16}")  # as the catalog makes them

Id = Annotated[str, Field(max_length=1_000)]


class FetchArguments(Arguments):
    """Arguments of `fetch`."""

    ids: list[Id] = Field(description=f"Ids of hits, up to {MOST_IDS}.")
    before: int = Field(0, description=f"Chunks to add before each, up to {MOST_NEIGHBOURS}.")
    after: int = Field(0, description=f"Chunks to add after each, up to {MOST_NEIGHBOURS}.")


class Stretch(BaseModel):
    """A stretch of a document without gaps: the chunks `ids` and their neighbours."""

    ids: list[str]
    headings: list[str]
    label: str | None = None
    start_line: int
    end_line: int
    text: str
    next_call: str | None = None

    def markdown(self) -> str:
        """This as readable text."""
        trail = f" {' > '.join(self.headings)}" if self.headings else ""
        label = f" ({self.label})" if self.label else ""
        rest = f"\nThe rest: {self.next_call}" if self.next_call else ""
        lines = f"lines {self.start_line}-{self.end_line}"
        return f"{lines}{label}{trail}\n{quoted(self.text)}{rest}"


class FetchedDocument(BaseModel):
    """What was fetched from one document: one stretch, or several that lie apart."""

    root: str
    path: str
    title: str
    lifecycle: str | None = None
    superseded_by: str | None = None
    stale: bool | None = None
    stretches: list[Stretch]

    def markdown(self) -> str:
        """This as readable text."""
        marks = [self.lifecycle.upper()] if self.lifecycle else []
        marks += ["STALE"] if self.stale else []
        head = " ".join([f"{self.root}:{self.path}", *(f"[{mark}]" for mark in marks)])
        return "\n".join([head, *(stretch.markdown() for stretch in self.stretches)])


class FetchResult(Result):
    """Documents in the order asked for; the index has none of the `missing` ids."""

    documents: list[FetchedDocument]
    missing: list[str] | None = None

    def markdown(self) -> str:
        """This as readable text."""
        return "\n\n".join([*self.noticed(), *(found.markdown() for found in self.documents)])


def fetch(sources: Sources, arguments: FetchArguments) -> FetchResult:
    """The chunks of the ids and their neighbours.

    Raises:
        BadArgument: there are no ids.
    """
    before = clamped("before", arguments.before, 0, MOST_NEIGHBOURS)
    after = clamped("after", arguments.after, 0, MOST_NEIGHBOURS)
    ids = list(dict.fromkeys(arguments.ids))
    if not ids:
        raise BadArgument("Argument 'ids' is empty.", "Pass ids of hits of search_corpus.")
    many = f"Too many ids ({len(ids)}): fetched the first {MOST_IDS}."
    with sources.live.use() as index:
        notices = [*before.notices, *after.notices, *([many] if len(ids) > MOST_IDS else [])]
        fetched = chunk_runs(index, ids[:MOST_IDS], before.value, after.value)
        return fetch_result(index, fetched, [*notices, *index.first_notices], Freshness(index))


def fetch_result(
    index: OpenIndex, fetched: FetchedRuns, notices: Sequence[str], freshness: Freshness
) -> FetchResult:
    """What was fetched, in the size of an answer; where it is cut, the call that reads on."""
    kept = list(fetched.stretches)
    notices = [*notices, *_missing(fetched)]
    texts = {s.file.number: index.catalog.text(s.file.number) for s in kept}
    while True:
        result = _documents(kept, fetched, texts, freshness)
        left_out = [id_ for s in fetched.stretches[len(kept) :] for id_ in s.ids]
        rest = [f"Not all fit. The rest: {format_call('fetch', ids=left_out)}"] if left_out else []
        result.notices = notice_lines([*notices, *rest])
        parts = [part for document in result.documents for part in document.stretches]
        room = room_for_texts(result, parts, ANSWER_BYTES)
        if room >= LEAST_TEXT * len(parts):
            break
        kept.pop()
    rooms = shared_room([answer_cost(texts[s.file.number][s.start : s.end]) for s in kept], room)
    for part, stretch, share in zip(parts, kept, rooms, strict=True):
        _fill(part, stretch, texts[stretch.file.number], share)
    return result


def _missing(fetched: FetchedRuns) -> list[str]:
    gone = [id_ for id_ in fetched.missing if ID.fullmatch(id_)]
    never = [shorten(one_line(id_), 40) for id_ in fetched.missing if not ID.fullmatch(id_)]
    notices = []
    if gone:
        ids = ", ".join(gone)
        notices.append(f"No chunk has the id {ids}: its document has changed; search again.")
    if never:
        given = ", ".join(map(repr, never))
        what = f"{given} is not a hit id (16 hex digits, from search_corpus)."
        notices.append(f"{what} To read a document by path use get_file.")
    return notices


def _documents(
    kept: Sequence[ChunkRun], fetched: FetchedRuns, texts: dict[int, str], freshness: Freshness
) -> FetchResult:
    documents: dict[int, FetchedDocument] = {}
    for stretch in kept:
        file = stretch.file
        document = documents.setdefault(
            file.number,
            FetchedDocument(
                root=file.root,
                path=one_line(file.path),
                title=display_title(file),
                **lifecycle_fields(file),
                stale=freshness.is_stale(file) or None,
                stretches=[],
            ),
        )
        document.stretches.append(_part(stretch, texts[file.number]))
    missing = [shorten(one_line(id_), 40) for id_ in fetched.missing] or None
    return FetchResult(documents=list(documents.values()), missing=missing, notices=[])


def _part(stretch: ChunkRun, text: str) -> Stretch:
    """A stretch still without text; its next call is as long as any that may be needed."""
    first, last = place_of(text, stretch.start).line, place_of(text, stretch.end - 1).line
    return Stretch(
        ids=list(stretch.ids),
        headings=heading_trail([one_line(heading) for heading in stretch.headings]),
        label=shorten(one_line(stretch.label), TITLE_BYTES) or None,
        start_line=first,
        end_line=last,
        text="",
        next_call=_get_file(stretch, text, stretch.end - 1, last),
    )


def _get_file(stretch: ChunkRun, text: str, offset: int, last: int) -> str:
    place, column = place_of(text, offset), None
    if place.column > 1:
        column = place.column
    return format_call(
        "get_file",
        path=display_name((stretch.file.root, stretch.file.path)),
        start_line=place.line,
        start_column=column,
        end_line=last,
    )


def _fill(part: Stretch, stretch: ChunkRun, text: str, room: int) -> None:
    """Adds the text that fits: from the start, or from the chunk that was asked for."""
    begin, end = stretch.start, stretch.end
    if answer_cost(text[begin:end]) > room and answer_cost(text[begin : stretch.hit]) > room // 3:
        begin = stretch.hit
    ready = begin + len(fit_prefix(text[begin:end], room))
    if ready < end:
        ready = text.rfind("\n", begin, ready) + 1 or ready
    part.text = safe_text(text[begin:ready])
    part.next_call = _get_file(stretch, text, ready, part.end_line) if ready < end else None
    part.start_line = place_of(text, begin).line
    part.end_line = place_of(text, max(begin, ready - 1)).line


TOOL = Tool("fetch", DESCRIPTION, FetchArguments, FetchResult, fetch)
