"""The tools at a terminal; see `terminal`."""

import io
import sys

from local_rag.terminal import main

if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):  # documents hold more than a console's code page
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.exit(main(sys.argv[1:]))
