"""What a query is limited to: the files that both arms may search, chosen before they rank.

If a filter matches nothing, the answer names the filter.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from local_rag.errors import BadArgument
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.index.manifest import RootState
from local_rag.index.paths import Glob
from local_rag.index.vector_index import lifecycle_filter

MOST_NUMBERS = 30_000  # Chroma refuses more than about 32,000 values in one condition


@dataclass(frozen=True)
class Filters:
    """Empty fields do not limit. Dates are ISO 8601; a document must have all `tags`."""

    root: str = ""
    path: str = ""
    modified_after: str = ""
    modified_before: str = ""
    tags: tuple[str, ...] = ()
    include_superseded: bool = False


@dataclass(frozen=True)
class Selection:
    """The files' numbers (None: all active ones), Chroma's condition, and why nothing matches."""

    files: frozenset[int] | None
    where: dict[str, Any] | None
    nothing: str = ""


def selection_of(index: OpenIndex, filters: Filters) -> Selection:
    """What `filters` select.

    Raises:
        BadArgument: a date is malformed, or the filters match too many files to list for Chroma.
    """
    superseded = index.snapshot.manifest.superseded_chunks
    if filters == Filters():
        return Selection(None, lifecycle_filter(superseded))
    files = index.catalog.files()
    allowed, nothing = passing(filters, files, index.snapshot.manifest.roots)
    if nothing:
        return Selection(frozenset(), None, nothing)
    numbers = frozenset(file.number for file in allowed)
    return Selection(numbers, _where(numbers, {file.number for file in files}))


def passing(
    filters: Filters, files: Sequence[FileRecord], roots: Sequence[RootState]
) -> tuple[list[FileRecord], str]:
    """The documents that match, and a notice naming the filter that matches none.

    Raises:
        BadArgument: a date is malformed.
    """
    allowed = [f for f in files if filters.include_superseded or f.lifecycle != "superseded"]
    for name, check in _checks(filters, roots):
        allowed = [file for file in allowed if check(file)]
        if not allowed:
            return [], f"No indexed document matches the filter {name}."
    return allowed, ""


def _checks(
    filters: Filters, roots: Sequence[RootState]
) -> list[tuple[str, Callable[[FileRecord], bool]]]:
    """The filters that are set, each with its name as given."""
    checks: list[tuple[str, Callable[[FileRecord], bool]]] = []
    if filters.root:
        checks.append((f"root={filters.root!r}", lambda f: f.root == filters.root))
    if filters.path:
        glob = Glob(filters.path, roots)
        checks.append((f"path={filters.path!r}", lambda f: glob.matches(f.root, f.path)))
    if filters.modified_after:
        after = parse_date(filters.modified_after)
        name = f"modified_after={filters.modified_after!r}"
        checks.append((name, lambda f: modified(f) >= after))
    if filters.modified_before:
        before = parse_date(filters.modified_before)
        name = f"modified_before={filters.modified_before!r}"
        checks.append((name, lambda f: modified(f) < before))
    for tag in filters.tags:
        wanted = tag.lstrip("#").casefold()
        checks.append((f"tags={tag!r}", partial(has_tag, wanted)))
    return checks


def has_tag(wanted: str, file: FileRecord) -> bool:
    """Whether a document has a tag; `tag` is casefolded."""
    return wanted in map(str.casefold, file.tags)


def modified(file: FileRecord) -> datetime.datetime:
    """When a document was last modified, by its front matter or else its file. In UTC."""
    if file.dated:
        return _utc(datetime.datetime.fromisoformat(file.dated))
    return datetime.datetime.fromtimestamp(file.mtime_ns / 1e9, datetime.UTC)


def parse_date(text: str) -> datetime.datetime:
    """An ISO 8601 date or time, in UTC unless it names a zone. Raises `BadArgument`."""
    try:
        return _utc(datetime.datetime.fromisoformat(text.strip()))
    except ValueError:
        raise BadArgument(f"'{text[:40]}' is not a date.", "Write it as 2026-05-31.") from None


def _utc(when: datetime.datetime) -> datetime.datetime:
    return when.replace(tzinfo=when.tzinfo or datetime.UTC)


def _where(allowed: frozenset[int], every: set[int]) -> dict[str, Any] | None:
    """Chroma's condition, by whichever list is shorter; None if all files are allowed."""
    hidden = every - allowed
    if not hidden:
        return None
    if min(len(hidden), len(allowed)) > MOST_NUMBERS:
        raise BadArgument(f"The filters leave {len(allowed)} files.", "Narrow them.")
    if len(allowed) <= len(hidden):
        return {"file": {"$in": sorted(allowed)}}
    return {"file": {"$nin": sorted(hidden)}}
