"""Runs the tools at a terminal: `python -m local_rag`; see `cli/query.py`."""

import sys

from local_rag.cli.query import main
from local_rag.cli.streams import prepare_streams

if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
