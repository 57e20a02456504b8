"""How the corpus on disk differs from the index, as far as a short look can tell.

Sizes and times first, bytes only where those differ. An ingest hashes every file and knows better.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from local_rag.documents import parse_document
from local_rag.errors import PathRefused
from local_rag.formats import format_of
from local_rag.freshness import state_of
from local_rag.live import OpenIndex
from local_rag.plan import set_aside
from local_rag.scan import read_version
from local_rag.settings import Root
from local_rag.walk import Found, Scope, Skipped, walk

Name = tuple[str, str]


@dataclass
class Drift:
    """Names of files (root, path) that differ; `cut` says that not all were looked at."""

    new: list[Name] = field(default_factory=list)
    changed: list[Name] = field(default_factory=list)
    gone: list[Name] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    cut: bool = False


def drift(
    index: OpenIndex, roots: Sequence[Root], scope: Scope, max_bytes: int, until: float
) -> Drift:
    """What has changed in `roots` since the index was built, looked at until a monotonic time."""
    found = Drift()
    _indexed(index, found, until)
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


def _indexed(index: OpenIndex, found: Drift, until: float) -> None:
    for file in index.catalog.files():
        if time.monotonic() > until:
            return
        try:
            state = state_of(index, file)
        except PathRefused:
            state = "gone"
        if state != "current":
            (found.gone if state == "gone" else found.changed).append((file.root, file.path))


def _left_out(index: OpenIndex) -> set[Name]:
    """Documents that the last run could not index, for a reason that isn't in their bytes.

    Those that still wait for their embedding are counted elsewhere.
    """
    report = index.snapshot.manifest.report
    skipped = [s for s in report.get("skipped", ()) if not s.get("sha256")]
    return {(s["root"], s["path"]) for s in [*skipped, *report.get("failed", ())]}


def _documents(root: Root, scope: Scope, found: Drift) -> Iterator[Found]:
    try:
        yield from (item for item in walk(root, scope) if isinstance(item, Found))
    except OSError:
        found.unreadable.append(root.name)


def _checker(index: OpenIndex, root: Root, max_bytes: int) -> Callable[[Found], bool]:
    """Tells whether the next ingest will leave a file out, as the last one did."""
    aside = set_aside(index.snapshot.manifest.report)

    def is_kept_out(item: Found) -> bool:
        read = read_version(root, item, max_bytes)
        if isinstance(read, Skipped) or (root.name, item.path, read[0].sha256) in aside:
            return True
        kind = format_of(item.path)
        if kind and kind.needs and importlib.util.find_spec(kind.needs) is None:
            return True
        if kind is None or not kind.front_matter or b"rag" not in read[1].data[:10_000]:
            return False
        return parse_document(read[1].data, kind).excluded

    return is_kept_out
