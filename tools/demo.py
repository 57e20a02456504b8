#!/usr/bin/env python3
"""The whole product in a minute: indexes the sample corpus and asks a real server three questions.

It uses its own store in .demo/, never the user's. It ends with the lines that register the server
with Claude Code and Codex.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.cli.streams import prepare_streams, say
from local_rag.errors import OutputLost

PROJECT = Path(__file__).resolve().parent.parent
STORE = PROJECT / ".demo" / "store"
QUESTIONS = {
    "Nobody reacts to a sev-1 page, who is called next?": "on-call.md",
    "How do I move the orders database to a replica by hand?": "runbooks/database-failover.md",
    "What does E-4107 image digest mismatch mean?": "deploys.md",
}


def settings() -> dict[str, str]:
    """The environment of a demo: the sample corpus, the demo's store, no other RAG_ variable."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAG_") or k == "RAG_EMBEDDER"}
    corpus = str(PROJECT / "sample-corpus")
    nothing = str(PROJECT / ".demo" / "no-settings.toml")
    Path(nothing).touch()
    return kept | {"RAG_CORPUS_DIR": corpus, "RAG_STORE_DIR": str(STORE), "RAG_CONFIG": nothing}


async def ask(environment: dict[str, str]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Asks the questions over stdio, as a client would; returns the hits of each."""
    server = StdioServerParameters(
        command=sys.executable, args=[str(PROJECT / "server.py")], env=environment
    )
    found = {}
    async with Client(stdio_client(server)) as client:
        for question in QUESTIONS:
            answer = await client.call_tool("search_corpus", {"query": question, "limit": 3})
            found[question] = (answer.structured_content or {}).get("hits", [])
    return found


def show(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    """Prints the hits of each question; returns how many first hits are right."""
    right = 0
    for question, hits in found.items():
        say(f"\n? {question}")
        for hit in hits:
            lines = f"{hit['start_line']}-{hit['end_line']}"
            say(f"  {hit['score']:.3f}  {hit['path']}:{lines}  {hit['title']}")
        right += bool(hits) and hits[0]["path"] == QUESTIONS[question]
    return right


def registration() -> str:
    """The lines that register the server, with the paths of this folder.

    A literal string of TOML, in single quotes, takes a Windows path as it is.
    """
    python, server = Path(sys.executable), PROJECT / "server.py"
    return f"""
To use it on your own documents:

1. List their folders in ~/.local-rag-mcp/config.toml:

  corpus_dir = ["~/notes"]

2. Index them, now and whenever they change, for example from cron:

  "{python}" "{PROJECT / "ingest.py"}"

3. Register the server.

Claude Code:
  claude mcp add --scope user local-rag -- "{python}" "{server}"

Codex (~/.codex/config.toml):
  [mcp_servers.local-rag]
  command = '{python}'
  args = ['{server}']
  startup_timeout_sec = 30
"""


def main() -> int:
    """Runs the demo; returns 0 if every first hit is right, 1 if not, 2 if it could not be run."""
    about = "Indexes the sample corpus into a store of its own, and asks a server three questions."
    argparse.ArgumentParser("demo.py", description=about).parse_args()
    shutil.rmtree(STORE, ignore_errors=True)
    STORE.parent.mkdir(exist_ok=True)
    environment = settings()
    ingest = [sys.executable, str(PROJECT / "ingest.py")]
    if subprocess.run(ingest, env=environment, check=False).returncode == 2:
        return 2
    found = anyio.run(ask, environment)
    try:
        right = show(found)
        say(f"\n{right} of {len(QUESTIONS)} first hits are right.")
        say(registration())
    except OutputLost as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if right == len(QUESTIONS) else 1


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main())
