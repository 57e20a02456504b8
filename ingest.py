#!/usr/bin/env python3
"""Brings the index up to date with the corpus. Safe at any moment, also while servers answer.

Exit codes: 0 every document is indexed, 1 finished but some were skipped or failed, 2 nothing done,
3 finished but standard output, where --json prints the report, was closed or full.
"""

import sys

from local_rag.commands import ingest
from local_rag.streams import prepare_streams

if __name__ == "__main__":
    prepare_streams()
    sys.exit(ingest(sys.argv[1:]))
