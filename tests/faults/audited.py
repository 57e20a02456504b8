"""Runs an ingest and a search, and prints every address that Python connects to or looks up."""

from __future__ import annotations

import sys

from local_rag.cli.ingest import main
from local_rag.settings import load_settings
from local_rag.tools.toolset import open_toolset


def audited() -> int:
    """The ingest's exit code."""
    seen: set[str] = set()

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect":
            seen.add(str(arguments[1]))
        elif event == "socket.getaddrinfo":
            seen.add(str(arguments[:2]))

    sys.addaudithook(watch)
    code = main([])
    tools = open_toolset(load_settings())
    tools.call("search_corpus", {"query": "alpha1"})
    tools.close()
    print(*sorted(seen), sep="\n")
    return code
