#!/usr/bin/env python3
"""Writes local_rag/data/front.json, from which the server answers a client's first messages.

Run it after a change to a tool's description or schema, a prompt, the instructions or the SDK.
`--check` writes nothing, and exits with 1 if the file is stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.server.front import DATA
from local_rag.server.front_data import as_text, render


def main(arguments: list[str]) -> int:
    """Writes the file, or checks it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Writes local_rag/data/front.json.")
    parser.add_argument("--check", action="store_true", help="only say whether it is stale")
    options = parser.parse_args(arguments)
    text = as_text(render())
    if options.check:
        if DATA.is_file() and DATA.read_text(encoding="utf-8") == text:
            return 0
        print(f"{DATA.name} is stale; run: python tools/build_front.py", file=sys.stderr)
        return 1
    DATA.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
