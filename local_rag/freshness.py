"""Whether a file on disk is still what was indexed. Reads its bytes only to compare them."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Literal

from local_rag.catalog import FileRecord
from local_rag.errors import PathRefused
from local_rag.live import OpenIndex
from local_rag.opening import read_inside

State = Literal["current", "changed", "gone"]


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
    except ValueError:
        return "changed"
    except OSError:
        return "gone"
    return "current" if hashlib.sha256(data).hexdigest() == file.sha256 else "changed"


class Freshness:
    """Looks at each file once for one answer."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._seen: dict[int, bool] = {}

    def is_stale(self, file: FileRecord) -> bool:
        """Whether the file has changed, is gone, or its path leads elsewhere."""
        if file.number not in self._seen:
            self._seen[file.number] = is_stale(self._index, file)
        return self._seen[file.number]


def is_stale(index: OpenIndex, file: FileRecord) -> bool:
    """Whether the file on disk is no longer what was indexed, for whatever reason."""
    try:
        return state_of(index, file) != "current"
    except PathRefused:
        return True
