#!/usr/bin/env python3
"""Brings the index up to date with the corpus. Safe at any moment, also while servers answer.

Exit codes: 0 every document is indexed, 1 finished but some were skipped or failed, 2 nothing done.
"""

import sys

from local_rag.commands import ingest

if __name__ == "__main__":
    sys.exit(ingest(sys.argv[1:]))
