"""What an ingest has to do: the corpus as it lies on disk against the live catalogue.

Reads and hashes every file, as modification times lie. Leaves out parsing and embedding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from local_rag.catalog import FileRecord, Version
from local_rag.errors import CorpusUnavailable, PathRefused
from local_rag.formats import format_of
from local_rag.settings import Root
from local_rag.walk import Content, Found, Scope, Skipped, read_inside, walk

NOTHING: Mapping[tuple[str, str, str], Skipped] = MappingProxyType({})
Change = Literal["new", "changed", "renamed"]


@dataclass(frozen=True)
class Todo:
    """A file to be indexed; `old` is its record in the live catalogue, under its former name."""

    change: Change
    found: Found
    size: int
    old: FileRecord | None


@dataclass(frozen=True)
class Plan:
    """`held` files are in the index and cannot be read now; they stay as they are."""

    todo: tuple[Todo, ...]
    gone: tuple[FileRecord, ...]
    unchanged: tuple[FileRecord, ...]
    held: tuple[FileRecord, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class Scan:
    """The corpus on disk: every readable document with its version, and what was skipped."""

    versions: tuple[tuple[Found, Version], ...]
    skipped: tuple[Skipped, ...]


def scan(roots: Sequence[Root], max_bytes: int, scope: Scope = Scope()) -> Scan:  # noqa: B008
    """Walks the roots and hashes every document.

    Raises:
        CorpusUnavailable: a root is missing or cannot be listed.
    """
    versions, skipped = [], []
    for root in roots:
        for item in _listing(root, scope):
            read = read_version(root, item, max_bytes) if isinstance(item, Found) else item
            if isinstance(read, Skipped):
                skipped.append(read)
            elif isinstance(item, Found):
                versions.append((item, read[0]))
    return Scan(tuple(versions), tuple(skipped))


def _listing(root: Root, scope: Scope) -> Iterable[Found | Skipped]:
    try:
        yield from walk(root, scope)
    except OSError as error:
        what = f"The corpus folder {root.path} cannot be read ({error.strerror})."
        raise CorpusUnavailable(what, "Correct RAG_CORPUS_DIR, or mount the disk.") from error


def read_version(root: Root, found: Found, max_bytes: int) -> tuple[Version, Content] | Skipped:
    """A document's version and bytes, or why it cannot be read."""
    kind = format_of(found.path)
    try:
        content = read_inside(root.path, found.location, max_bytes * (kind.heavy if kind else 1))
    except PathRefused:
        reason = "changed into a link or a folder while it was read"
    except ValueError as error:
        reason = str(error)
    except OSError as error:
        reason = f"unreadable: {error.strerror}"
    else:
        digest = hashlib.sha256(content.data).hexdigest()
        location = str(found.location)
        return (
            Version(root.name, found.path, location, digest, content.size, content.mtime_ns),
            content,
        )
    return Skipped(root.name, found.path, reason, wanted=True)


def make_plan(
    on_disk: Scan, indexed: Sequence[FileRecord], *, same_recipe: bool,
    aside: Mapping[tuple[str, str, str], Skipped] = NOTHING,
) -> Plan:  # fmt: skip
    """Compares the corpus with the catalogue. A move is a new path with a gone file's bytes.

    With another recipe (chunk sizes, parser) than the catalogue's, every file has to be redone.
    `aside` holds what is known to be no document, by root, path and hash.
    """
    records = {(record.root, record.path): record for record in indexed}
    present = {(found.root, found.path) for found, _ in on_disk.versions}
    missing = [record for key, record in records.items() if key not in present]
    unreadable = [s for s in on_disk.skipped if "unreadable" in s.reason]
    held = [record for record in missing if _is_unreadable(record, unreadable)]
    gone = {r.sha256: r for r in missing if r not in held}
    todo, unchanged, skipped, moved = [], [], list(on_disk.skipped), set()
    for found, version in on_disk.versions:
        record = records.get((found.root, found.path))
        same = record and (record.sha256, record.location) == (version.sha256, version.location)
        if record and same and same_recipe:
            unchanged.append(record)
        elif record:
            todo.append(Todo("changed", found, version.size, record))
        elif known := aside.get((found.root, found.path, version.sha256)):
            skipped.append(known)
        elif (former := gone.get(version.sha256)) and former.number not in moved:
            moved.add(former.number)
            todo.append(Todo("renamed", found, version.size, former))
        else:
            todo.append(Todo("new", found, version.size, None))
    left = tuple(r for r in missing if r not in held and r.number not in moved)
    return Plan(tuple(todo), left, tuple(unchanged), tuple(held), tuple(skipped))


def _is_unreadable(record: FileRecord, unreadable: Sequence[Skipped]) -> bool:
    """Whether the file, or a folder above it, is there but could not be read this time."""
    return any(
        s.root == record.root
        and (s.path == record.path or (s.path.endswith("/") and record.path.startswith(s.path)))
        for s in unreadable
    )


def check_roots_present(
    on_disk: Scan, indexed: Sequence[FileRecord], roots: Sequence[Root]
) -> None:
    """Refuses to take a root that has become empty for a deletion of all its documents.

    Raises:
        CorpusUnavailable: a root has no documents now and had some, or none has any.
    """
    present = {found.root for found, _ in on_disk.versions}
    had = {record.root for record in indexed}
    for root in roots:
        if root.name in had - present:
            what = f"{root.path} holds no documents, but the index has some from it."
            raise CorpusUnavailable(what, "Mount the disk, or confirm with --allow-empty.")
    if not present:
        folders = ", ".join(str(root.path) for root in roots)
        what = f"{folders} holds no documents."
        raise CorpusUnavailable(what, "Correct RAG_CORPUS_DIR, or confirm with --allow-empty.")
