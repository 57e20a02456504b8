"""Every tool over one store: called by name, with one line for whatever goes wrong."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from local_rag.errors import BadArgument, RagError
from local_rag.search.hybrid import Query, search
from local_rag.search.weakness import thresholds_for
from local_rag.settings import Settings
from local_rag.text.sanitize import one_line, safe_text
from local_rag.text.trim import shorten
from local_rag.tools import (
    corpus_status,
    fetch,
    get_file,
    grep_corpus,
    list_files,
    outline,
    search_corpus,
)
from local_rag.tools.answer_size import ERROR_BYTES
from local_rag.tools.arguments import ECHO_BYTES, checked_arguments
from local_rag.tools.tool import Sources, Tool

log = logging.getLogger(__name__)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        search_corpus.TOOL,
        fetch.TOOL,
        get_file.TOOL,
        list_files.TOOL,
        outline.TOOL,
        grep_corpus.TOOL,
        corpus_status.TOOL,
    )
}


@dataclass(frozen=True)
class Answer:
    """What a call returns: readable text and, unless it failed, the structured answer."""

    text: str
    structured: dict[str, Any] | None = None

    @property
    def is_error(self) -> bool:
        """Whether the call failed; `text` is then one line that says what to do."""
        return self.structured is None


class Toolset:
    """The tools over one store. Safe to use from several threads. Close it."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.live = sources.live

    def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """One call, its arguments checked; a failure is an answer of one line."""
        try:
            if name not in TOOLS:
                known = f"There are: {', '.join(TOOLS)}."
                raise BadArgument(f"There is no tool '{shorten(name, ECHO_BYTES)}'.", known)
            tool = TOOLS[name]
            result = tool.run(self.sources, checked_arguments(tool.arguments, arguments))
            return Answer(safe_text(result.markdown()), result.lean())
        except RagError as error:
            return Answer(shorten(one_line(str(error)), ERROR_BYTES))
        except Exception:  # the outermost edge: a crash costs this call, and the log has the rest
            log.exception("tool %s failed", name)
            what = f"{name} failed inside the server."
            return Answer(f"{what} Its log on stderr says why; try another query.")

    def warm_up(self) -> None:
        """Opens the live index and wakes the embedder, so that the first question need not wait.

        A failure is left for the first question to meet and to report.
        """
        with suppress(RagError), self.live.use() as index:
            thresholds = thresholds_for(self.live.store.path, index.snapshot.manifest.identity)
            search(index, self.sources.embedder, Query("warm up", 1), thresholds)

    def close(self) -> None:
        """Releases the index."""
        self.live.close()


def open_toolset(settings: Settings) -> Toolset:
    """The tools over the settings' store, which is opened when first asked."""
    from local_rag.embedding.choice import query_embedder_for
    from local_rag.embedding.query_embedder import QueryEmbedder
    from local_rag.index.live_index import LiveIndex
    from local_rag.index.snapshots import Store

    live = LiveIndex(Store(settings.store_dir))
    embedder = QueryEmbedder(lambda identity: query_embedder_for(settings, identity))
    return Toolset(Sources(live, embedder, settings))
