#!/usr/bin/env python3
"""The read-only MCP server over stdio: answers from the index that ingest.py builds."""

from local_rag.server.start import serve

if __name__ == "__main__":
    serve()
