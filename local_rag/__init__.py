"""Answers from your own documents: ingest them once, then search them over MCP."""

__version__ = "0.1.0"
