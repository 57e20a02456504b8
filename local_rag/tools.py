"""The MCP tools as plain typed methods over the live index.

Leaves out their arguments' and results' shapes (`answers`) and the protocol (`serve`).
"""

from __future__ import annotations

from contextlib import suppress

from local_rag.answers import (
    LONGEST_QUERY,
    MOST_HITS,
    FileArguments,
    FileResult,
    SearchArguments,
    SearchHit,
    SearchResult,
)
from local_rag.calibration import Thresholds, thresholds_for
from local_rag.display import one_line, safe_text
from local_rag.errors import RagError
from local_rag.filters import Filters
from local_rag.live import LiveIndex, OpenIndex
from local_rag.queries import QueryEmbedder
from local_rag.reading import read_lines
from local_rag.search import Hit, Query, search

HIT_TEXT = 5_400  # bytes of text in one answer, shared among its hits; the fields take the rest


class Tools:
    """The tools over one store. Plain methods, safe on several threads."""

    def __init__(self, live: LiveIndex, embedder: QueryEmbedder) -> None:
        self._live, self._embedder = live, embedder

    def warm_up(self) -> None:
        """Opens the live index and wakes the embedder, so that the first question needn't wait.

        A failure is left for the first question to meet and to report.
        """
        with suppress(RagError), self._live.use() as index:
            search(index, self._embedder, Query("warm up", 1), self._thresholds(index))

    def close(self) -> None:
        """Releases the index."""
        self._live.close()

    def search_corpus(self, arguments: SearchArguments) -> SearchResult:
        """The passages that answer a query best."""
        text = safe_text(arguments.query).strip()
        notices = []
        limit = min(max(arguments.limit, 1), MOST_HITS)
        if limit != arguments.limit:
            notices.append(f"limit {arguments.limit} is out of range: {limit} taken.")
        if len(text) > LONGEST_QUERY:
            notices.append(f"The query was cut to {LONGEST_QUERY} characters.")
        query = Query(text[:LONGEST_QUERY], limit, arguments.mode, _filters(arguments), HIT_TEXT)
        with self._live.use() as index:
            answer = search(index, self._embedder, query, self._thresholds(index))
        hits = [_shown(hit) for hit in answer.hits]
        if hits and all(hit.weak for hit in hits):
            notices.append("Every hit is weak: the documents may not answer this.")
        return SearchResult(hits=hits, notices=[one_line(n) for n in [*notices, *answer.notices]])

    def get_file(self, arguments: FileArguments) -> FileResult:
        """Lines of an indexed document, by path."""
        with self._live.use() as index:
            return _excerpt(index, arguments)

    def _thresholds(self, index: OpenIndex) -> Thresholds:
        return thresholds_for(self._live.store.path, index.snapshot.manifest.regime)


def _filters(arguments: SearchArguments) -> Filters:
    return Filters(
        root=arguments.root,
        path=arguments.path,
        modified_after=arguments.modified_after,
        modified_before=arguments.modified_before,
        tags=tuple(arguments.tags),
        include_superseded=arguments.include_superseded,
    )


def _shown(hit: Hit) -> SearchHit:
    retired = hit.file.lifecycle == "superseded"
    return SearchHit(
        id=hit.id,
        root=hit.file.root,
        path=hit.file.path,
        title=one_line(hit.file.title or hit.file.path.rpartition("/")[2]),
        headings=[one_line(heading) for heading in hit.headings],
        start_line=hit.first_line,
        end_line=hit.last_line,
        label=one_line(hit.label) or None,
        score=round(hit.score, 3),
        cosine=None if hit.cosine is None else round(hit.cosine, 3),
        keyword_rank=hit.keyword_rank,
        weak=hit.weak,
        lifecycle="superseded" if retired else None,
        superseded_by=(one_line(hit.file.superseded_by) or None) if retired else None,
        text=safe_text(hit.text),
        cut=hit.cut or None,
    )


def _excerpt(index: OpenIndex, arguments: FileArguments) -> FileResult:
    found = read_lines(index, arguments.path, arguments.start_line, arguments.end_line)
    file, notices = found.file, [index.notice] if index.notice else []
    if file.lifecycle == "superseded":
        by = f" by {file.superseded_by}" if file.superseded_by else ""
        notices.append(f"This document is superseded{by}; do not rely on it.")
    if found.state == "gone":
        notices.append("The file is gone from disk; this is its text as indexed.")
    if found.state == "changed":
        notices.append("The file has changed since; this is its text as indexed.")
    name = f"{file.root}:{file.path}"
    until = f", end_line={arguments.end_line}" if arguments.end_line else ""
    return FileResult(
        root=file.root,
        path=file.path,
        title=one_line(file.title),
        lifecycle=file.lifecycle,
        superseded_by=one_line(file.superseded_by),
        start_line=found.first,
        end_line=found.last,
        total_lines=found.lines,
        state=found.state,
        notices=[one_line(n) for n in notices],
        text=safe_text(found.text),
        next_call=(
            f"get_file(path={name!r}, start_line={found.next_line}{until})"
            if found.next_line
            else None
        ),
    )
