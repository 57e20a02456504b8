"""How many bytes an answer and each of its parts may have. Pure.

Sizes are bytes of JSON, as a client receives them (`text.trim`).
"""

from __future__ import annotations

from local_rag.index.catalog import FileRecord
from local_rag.text.sanitize import one_line
from local_rag.text.trim import answer_cost, shorten

HIT_TEXT_BYTES = (
    5_400  # bytes of text of all hits together; their other fields take the rest of ANSWER
)
ERROR_BYTES = 1_200  # bytes of an error's line
ANSWER_BYTES = 8_000  # bytes of an answer to default arguments, structured or as text
LARGEST_ANSWER_BYTES = 16_000  # bytes of an answer that was asked to be longer
TITLE_BYTES = 120  # bytes of a title, a label or the name of a replacement
TRAIL_BYTES = 300  # bytes of all headings above a passage
NOTICE_BYTES = 400  # bytes of one line that says what limits an answer


def heading_trail(headings: list[str]) -> list[str]:
    """Headings in the room that a trail has; the innermost tell most and are kept."""
    kept: list[str] = []
    left = TRAIL_BYTES
    for heading in reversed(headings):
        short = shorten(heading, min(TITLE_BYTES, left))
        left -= answer_cost(short) + 4
        if left < 0:
            break
        kept.insert(0, short)
    return kept


def shared_room(sizes: list[int], room: int) -> list[int]:
    """`room` bytes shared out fairly: who needs less leaves the rest to the others."""
    shares, left = [0] * len(sizes), max(0, room)
    for served, i in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[i] = min(sizes[i], left // (len(sizes) - served))
        left -= shares[i]
    return shares


def display_title(file: FileRecord) -> str:
    """A document's title, or its file's name."""
    return shorten(one_line(file.title or file.path.rpartition("/")[2]), TITLE_BYTES)
