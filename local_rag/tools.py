"""The MCP tools as plain typed methods over the live index.

Leaves out their arguments' and results' shapes (`answers`) and the protocol (`serve`).
"""

from __future__ import annotations

import unicodedata
from contextlib import suppress

import mcp_types as types

from local_rag import resources, shown
from local_rag.answers import (
    LONGEST_QUERY,
    MOST_HITS,
    MOST_IDS,
    MOST_NEIGHBOURS,
    Arguments,
    FetchArguments,
    FetchResult,
    SearchArguments,
    SearchResult,
)
from local_rag.answers_files import (
    MOST_CONTEXT,
    MOST_FILES,
    MOST_MATCHES,
    FileArguments,
    FileResult,
    GrepArguments,
    GrepResult,
    ListArguments,
    ListResult,
    OutlineArguments,
    OutlineResult,
)
from local_rag.answers_status import StatusResult
from local_rag.calibration import Thresholds, thresholds_for
from local_rag.display import safe_text
from local_rag.errors import BadArgument, RagError
from local_rag.fetching import fetch
from local_rag.filters import Filters
from local_rag.fitting import ANSWER, LARGEST, said
from local_rag.freshness import Freshness
from local_rag.listing import list_files
from local_rag.live import LiveIndex, OpenIndex
from local_rag.matching import grep_corpus
from local_rag.outlining import outline
from local_rag.pages import file_result
from local_rag.queries import QueryEmbedder
from local_rag.search import Query, search
from local_rag.settings import Settings, load_settings
from local_rag.status import corpus_status
from local_rag.terms import words

HIT_TEXT = 5_400  # bytes of text in one answer, shared among its hits; the fields take the rest
USUAL = 6  # hits, for which an answer has its usual length
MORE = "{} more passages match; to see other ones, narrow the query{}."


class Tools:
    """The tools over one store. Plain methods, safe on several threads."""

    def __init__(
        self, live: LiveIndex, embedder: QueryEmbedder, settings: Settings | None = None
    ) -> None:
        self.live, self._embedder, self._settings = live, embedder, settings

    def warm_up(self) -> None:
        """Opens the live index and wakes the embedder, so that the first question needn't wait.

        A failure is left for the first question to meet and to report.
        """
        with suppress(RagError), self.live.use() as index:
            search(index, self._embedder, Query("warm up", 1), self._thresholds(index))

    def close(self) -> None:
        """Releases the index."""
        self.live.close()

    def search_corpus(self, arguments: SearchArguments) -> SearchResult:
        """The passages that answer a query best."""
        text = safe_text(arguments.query).strip()
        if not text:
            raise BadArgument("The query is empty.", "Ask a question, or give a few words.")
        notices: list[str] = []
        limit = within(arguments.limit, 1, MOST_HITS, "limit", notices)
        if len(text) > LONGEST_QUERY:
            notices.append(f"The query was cut to {LONGEST_QUERY} characters.")
        query = Query(text[:LONGEST_QUERY], limit, arguments.mode, _filters(arguments), HIT_TEXT)
        with self.live.use() as index:
            _check_words(index, query)
            answer = search(index, self._embedder, query, self._thresholds(index))
            notices += answer.notices
            if answer.hits and all(hit.weak for hit in answer.hits):
                notices.append("Every hit is weak: the documents may not answer this.")
            if answer.more:
                or_more = " or raise limit" if limit < MOST_HITS else ""
                notices.append(MORE.format(answer.more, or_more))
            room = ANSWER if limit <= USUAL else LARGEST
            return shown.search_result(answer.hits, notices, Freshness(index), room)

    def fetch(self, arguments: FetchArguments) -> FetchResult:
        """Whole chunks by their ids, with their neighbours."""
        notices: list[str] = []
        before = within(arguments.before, 0, MOST_NEIGHBOURS, "before", notices)
        after = within(arguments.after, 0, MOST_NEIGHBOURS, "after", notices)
        ids = list(dict.fromkeys(arguments.ids))
        if len(ids) > MOST_IDS:
            notices.append(f"{len(ids)} ids are too many: the first {MOST_IDS} taken.")
        if not ids:
            raise BadArgument("Argument 'ids' is empty.", "Pass ids of hits of search_corpus.")
        with self.live.use() as index:
            notices += index.first_notices
            fetched = fetch(index, ids[:MOST_IDS], before, after)
            return shown.fetch_result(index, fetched, notices, Freshness(index))

    def get_file(self, arguments: FileArguments) -> FileResult:
        """Text of an indexed document, by path."""
        with self.live.use() as index:
            return file_result(index, arguments)

    def list_files(self, arguments: ListArguments) -> ListResult:
        """Which documents there are."""
        notices: list[str] = []
        limit = within(arguments.limit, 1, MOST_FILES, "limit", notices)
        with self.live.use() as index:
            notices += index.first_notices
            return list_files(index, arguments, limit, notices)

    def outline(self, arguments: OutlineArguments) -> OutlineResult:
        """The headings of a document with their lines."""
        with self.live.use() as index:
            return outline(index, arguments)

    def grep_corpus(self, arguments: GrepArguments) -> GrepResult:
        """Lines that match exactly."""
        notices: list[str] = []
        limit = within(arguments.limit, 1, MOST_MATCHES, "limit", notices)
        context = within(arguments.context, 0, MOST_CONTEXT, "context", notices)
        with self.live.use() as index:
            notices += index.first_notices
            return grep_corpus(index, arguments, limit, context, notices)

    def corpus_status(self, arguments: Arguments) -> StatusResult:
        """What is indexed, whether it is up to date, and how to bring it there."""
        with self.live.use() as index:
            return corpus_status(index, self._embedder, self._settings or load_settings())

    def list_resources(self, cursor: str | None) -> types.ListResourcesResult:
        """A page of the documents as resources."""
        with self.live.use() as index:
            return resources.list_resources(index, cursor)

    def list_templates(self) -> types.ListResourceTemplatesResult:
        """What a resource's URI looks like."""
        return resources.list_templates()

    def read_resource(self, uri: str) -> types.ReadResourceResult:
        """A document by its URI."""
        with self.live.use() as index:
            return resources.read_resource(index, uri)

    def complete(self, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Names that go on from what was typed."""
        given = (params.context.arguments if params.context else None) or {}
        whole = isinstance(params.ref, types.PromptReference)
        name, typed, root = params.argument.name, params.argument.value, given.get("root")
        with self.live.use() as index:
            return resources.complete(index, name, typed, root, whole_names=whole)

    def _thresholds(self, index: OpenIndex) -> Thresholds:
        return thresholds_for(self.live.store.path, index.snapshot.manifest.regime)


def _check_words(index: OpenIndex, query: Query) -> None:
    """Refuses a query that neither arm can look for: "no match" would not be true of it."""
    has_sense = any(unicodedata.category(sign) == "So" for sign in query.text)  # such as an emoji
    by_meaning = index.vectors is not None and query.mode != "keyword" and has_sense
    if not by_meaning and next(words(query.text, ""), None) is None:
        remedy = "Ask in words. To find signs as they are written, use grep_corpus."
        raise BadArgument("The query has no words to look for.", remedy)


def _filters(arguments: SearchArguments) -> Filters:
    return Filters(
        root=arguments.root,
        path=arguments.path,
        modified_after=arguments.modified_after,
        modified_before=arguments.modified_before,
        tags=tuple(arguments.tags),
        include_superseded=arguments.include_superseded,
    )


def within(value: int, low: int, high: int, name: str, notices: list[str]) -> int:
    """`value` brought into its range, which a notice says."""
    taken = min(max(value, low), high)
    if taken != value:
        notices.append(f"{name} {said(value)} is out of range: {taken} taken.")
    return taken
