"""The tools at a terminal; see `terminal`."""

import sys

from local_rag.streams import prepare_streams
from local_rag.terminal import main

if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
