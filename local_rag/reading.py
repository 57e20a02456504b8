"""Finds an indexed document by its path and serves its text, never anything else.

What is served is the text as it was indexed, so that line numbers are those of the hits; the
file on disk is only looked at to say whether it is still the same. Reads no unindexed file.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from local_rag.catalog import FileRecord
from local_rag.errors import BadArgument, DocumentNotFound, PathRefused
from local_rag.live import OpenIndex
from local_rag.structure import line_starts
from local_rag.walk import read_inside

State = Literal["current", "changed", "gone"]
PAGE = 7_000  # characters of text in one answer


@dataclass(frozen=True)
class Excerpt:
    """Lines `first` to `last` (from 1, inclusive) of a document of `lines` lines.

    `next_line` is where the rest starts, if the page ended before what was asked for did.
    """

    file: FileRecord
    state: State
    first: int
    last: int
    lines: int
    text: str
    next_line: int | None


def find_file(index: OpenIndex, path: str) -> FileRecord:
    """The indexed file that `path` names: `root:path`, or a path within any root.

    Raises:
        DocumentNotFound: none or several have this path; the text names the nearest.
    """
    wanted = {path, unicodedata.normalize("NFC", path)}
    files = index.catalog.files()
    hits = [f for f in files if f.path in wanted or f"{f.root}:{f.path}" in wanted]
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(f"{f.root}:{f.path}" for f in hits)
        raise DocumentNotFound(f"'{path}' is ambiguous.", f"Say which: {names}.")
    near = difflib.get_close_matches(path, [f.path for f in files], n=3, cutoff=0.6)
    remedy = f"Did you mean {', '.join(near)}?" if near else "Use a path from search_corpus."
    raise DocumentNotFound(f"No indexed document has the path '{path}'.", remedy)


def state_of(index: OpenIndex, file: FileRecord) -> State:
    """Whether the file on disk is what was indexed: size and time first, then its bytes.

    Raises:
        PathRefused: the path now leads through a link or out of its root.
    """
    location = Path(file.location)
    root = next(Path(r.path) for r in index.snapshot.manifest.roots if r.name == file.root)
    try:
        status = os.lstat(location)
        if stat.S_ISLNK(status.st_mode) or Path(os.path.realpath(location)) != location:
            what = f"{file.path} now leads elsewhere than when it was indexed."
            raise PathRefused(what, "Run ingest.py to bring the index up to date.")
        if (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns):
            return "current"
        if status.st_size != file.size:
            return "changed"
        data = read_inside(root, location, file.size).data
    except (OSError, ValueError):
        return "gone"
    return "current" if hashlib.sha256(data).hexdigest() == file.sha256 else "changed"


def read_lines(index: OpenIndex, path: str, start: int, end: int | None) -> Excerpt:
    """Lines `start` to `end` of an indexed document, or as many as fit one answer.

    Raises:
        DocumentNotFound: no such document is indexed.
        PathRefused: its path leads elsewhere now.
        BadArgument: the document ends before `start`.
    """
    file = find_file(index, path)
    state = state_of(index, file)
    text = index.catalog.text(file.number)
    starts = line_starts(text)
    lines = len(starts) - (text.endswith("\n") or not text)
    first, last = max(1, start), min(end or lines, lines)
    if lines and first > lines:
        raise BadArgument(f"{file.path} has {lines} lines, not {start}.", "Ask for less.")
    if first > last:
        raise BadArgument(f"end_line {end} is before start_line {start}.", "Swap them.")
    starts.append(len(text))
    shown = first
    while shown < last and starts[shown + 1] - starts[first - 1] <= PAGE:
        shown += 1
    piece = text[starts[first - 1] : starts[shown]] if lines else ""
    return Excerpt(file, state, first, shown, lines, piece, shown + 1 if shown < last else None)
