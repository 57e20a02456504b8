#!/usr/bin/env python3
"""Brings the index up to date with the corpus. Safe at any moment, even while servers answer.

`ingest.py --help` lists the options and the exit codes.
"""

import gc
import signal
import sys

# A run creates a record for every file and keeps it until the end. Collecting garbage among them
# again and again took a quarter of the time of a run in which nothing had changed.
gc.set_threshold(300_000)

from local_rag.cli.ingest import main  # noqa: E402 - its imports create objects too
from local_rag.cli.streams import prepare_streams  # noqa: E402

if __name__ == "__main__":
    prepare_streams()
    # A service's stop signal is reported like Ctrl-C: one line, exit code 2, JSON if asked for.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = main(sys.argv[1:])
    gc.freeze()  # and the collection at exit would find no garbage either
    sys.exit(code)
