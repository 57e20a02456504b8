"""Runs an ingest and a search, and prints every address that Python connects to or looks up."""

from __future__ import annotations

import sys

from local_rag.answers import SearchArguments
from local_rag.commands import ingest
from local_rag.serve import load_tools
from local_rag.settings import load_settings


def audited() -> int:
    """The ingest's exit code."""
    seen: set[str] = set()

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect":
            seen.add(str(arguments[1]))
        elif event == "socket.getaddrinfo":
            seen.add(str(arguments[:2]))

    sys.addaudithook(watch)
    code = ingest([])
    tools = load_tools(load_settings())
    tools.search_corpus(SearchArguments.model_validate({"query": "alpha1"}))
    tools.close()
    print(*sorted(seen), sep="\n")
    return code
