"""What each exit code of each command means.

`--help` is made from this table; a test holds README.md and docs/reference.md to it.
"""

from __future__ import annotations

from collections.abc import Mapping

PUBLISHED, ATTENTION, NOTHING_DONE, REPORT_LOST = 0, 1, 2, 3  # of ingest.py
INTACT, PROBLEMS, NO_INDEX = 0, 1, 2  # of ingest.py --verify
ANSWERED, NO_MATCH, FAILED = 0, 1, 2  # of python -m local_rag

INGEST = {
    PUBLISHED: "every document that should be in the index is in it",
    ATTENTION: "published or unchanged, but something needs a person",
    NOTHING_DONE: "nothing could be done",
    REPORT_LOST: "finished, but the report could not be printed",
}
VERIFY = {
    INTACT: "the index is intact",
    PROBLEMS: "problems found",
    NO_INDEX: "no index",
}
TERMINAL = {
    ANSWERED: "answered",
    NO_MATCH: "no match",
    FAILED: "failed; the last line says what to do",
}


def spelled(codes: Mapping[int, str]) -> str:
    """The codes with their meanings, on one line."""
    return "; ".join(f"{code} {meaning}" for code, meaning in codes.items())
