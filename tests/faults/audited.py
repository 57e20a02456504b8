"""Runs an ingest and a search, and prints every address that Python connects to or looks up.

python -m tests.faults.audited
"""

from __future__ import annotations

import sys

seen: set[str] = set()


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        seen.add(str(arguments[1]))
    elif event == "socket.getaddrinfo":
        seen.add(str(arguments[:2]))


if __name__ == "__main__":
    sys.addaudithook(watch)
    from local_rag.answers import SearchArguments
    from local_rag.commands import ingest
    from local_rag.serve import load_tools
    from local_rag.settings import load_settings

    code = ingest([])
    tools = load_tools(load_settings())
    tools.search_corpus(SearchArguments.model_validate({"query": "alpha1"}))
    tools.close()
    print(*sorted(seen), sep="\n")
    sys.exit(code)
