#!/usr/bin/env python3
"""Brings the index up to date with the corpus. Safe at any moment, also while servers answer.

Exit codes: 0 every document is indexed, 1 finished but some were skipped or failed, 2 nothing done,
3 finished but standard output, where --json prints the report, was closed or full.
"""

import gc
import signal
import sys

# A run makes a record for every file and keeps it to the end: looking through them again and again
# for garbage took a quarter of a run in which nothing had changed.
gc.set_threshold(300_000)

from local_rag.cli.ingest import main  # noqa: E402 - what it imports is looked through as well
from local_rag.cli.streams import prepare_streams  # noqa: E402

if __name__ == "__main__":
    prepare_streams()
    # What stops a service is told like Ctrl-C: one line, exit code 2, JSON where asked for.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = main(sys.argv[1:])
    gc.freeze()  # nor is there any garbage to be found on the way out
    sys.exit(code)
