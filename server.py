#!/usr/bin/env python3
"""The MCP server: answers from the index that ingest.py has built, over stdio, read-only."""

from local_rag.server.start import serve

if __name__ == "__main__":
    serve()
