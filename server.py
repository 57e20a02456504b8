#!/usr/bin/env python3
"""The MCP server: answers from the index that ingest.py has built, over stdio, read-only."""

import logging
import sys

from local_rag.errors import RagError
from local_rag.server.app import serve

if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        serve()
    except RagError as error:
        sys.exit(f"error: {error}")
