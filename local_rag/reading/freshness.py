"""Whether files on disk are still what was indexed: one file, or a bounded look at all."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from local_rag.corpus.safe_open import read_inside
from local_rag.corpus.scan import read_version
from local_rag.corpus.skipped import SkippedFile
from local_rag.corpus.walk import FoundFile, WalkScope, walk
from local_rag.documents.document import document_if_readable
from local_rag.documents.formats.registry import format_of
from local_rag.errors import PathRefused
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.index.manifest import set_aside
from local_rag.settings import Root

State = Literal["current", "changed", "gone"]
DocumentName = tuple[str, str]
"""Root and path."""


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
    """Freshness of files, each checked once per answer."""

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


@dataclass
class Drift:
    """Names (root, path) of files that differ; `cut` says that the check was cut off."""

    new: list[DocumentName] = field(default_factory=list)
    changed: list[DocumentName] = field(default_factory=list)
    gone: list[DocumentName] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    cut: bool = False


def drift(
    index: OpenIndex, roots: Sequence[Root], scope: WalkScope, max_bytes: int, until: float
) -> Drift:
    """What has changed in `roots` since the index was built, checked until a monotonic time."""
    found = Drift()
    for file in index.catalog.files():
        if time.monotonic() > until:
            break
        try:
            state = state_of(index, file)
        except PathRefused:
            state = "gone"
        if state != "current":
            (found.gone if state == "gone" else found.changed).append((file.root, file.path))
    known = set(index.catalog.names()) | _left_out(index)
    for root in roots:
        is_kept_out = _checker(index, root, max_bytes)
        for item in _documents(root, replace(scope, until=until), found):
            if (root.name, item.path) not in known and not is_kept_out(item):
                found.new.append((root.name, item.path))
            if time.monotonic() > until:
                break
    found.cut = time.monotonic() > until
    return found


def _left_out(index: OpenIndex) -> set[DocumentName]:
    """Documents that the last run could not index, for a reason outside their bytes.

    Those that still wait for an embedding are counted elsewhere.
    """
    report = index.snapshot.manifest.report
    skipped = [s for s in report.skipped if not s.sha256]
    return {(s.root, s.path) for s in skipped} | {(r.root, r.path) for r in report.failed}


def _documents(root: Root, scope: WalkScope, found: Drift) -> Iterator[FoundFile]:
    try:
        yield from (item for item in walk(root, scope) if isinstance(item, FoundFile))
    except OSError:
        found.unreadable.append(root.name)


def _checker(index: OpenIndex, root: Root, max_bytes: int) -> Callable[[FoundFile], bool]:
    """A function that says whether the next ingest will leave a file out, as the last one did."""
    aside = set_aside(index.snapshot.manifest.report)

    def is_kept_out(item: FoundFile) -> bool:
        read = read_version(root, item, max_bytes)
        if isinstance(read, SkippedFile) or (root.name, item.path, read[0].sha256) in aside:
            return True
        kind = format_of(item.path)
        if kind and kind.needs and importlib.util.find_spec(kind.needs) is None:
            return True
        if kind is None or not kind.front_matter or b"rag" not in read[1].data[:10_000]:
            return False
        document = document_if_readable(read[1].data, kind)
        return document is not None and document.excluded

    return is_kept_out
