"""What an ingest has to do: the corpus as it lies on disk against the live catalogue. Pure.

Leaves out how either is read (`scan`, `basis`), and doing it (`changes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from local_rag.corpus.scan import FileVersion, Scan
from local_rag.corpus.walk import WHOLE_ROOT, SkippedFile
from local_rag.errors import CorpusUnavailable
from local_rag.index.catalog import CatalogEntry
from local_rag.index.manifest import NONE_SET_ASIDE, Manifest, RootState, SetAside, set_aside
from local_rag.settings import Root

Change = Literal["new", "changed", "renamed"]


@dataclass(frozen=True)
class PlannedFile:
    """A file to be indexed; `old` is its entry in the live catalogue, under its former name."""

    change: Change
    version: FileVersion
    old: CatalogEntry | None


@dataclass(frozen=True)
class Plan:
    """`held` files are in the index and cannot be read now; they stay as they are."""

    todo: tuple[PlannedFile, ...]
    gone: tuple[CatalogEntry, ...]
    unchanged: tuple[CatalogEntry, ...]
    held: tuple[CatalogEntry, ...]
    skipped: tuple[SkippedFile, ...]


def plan_from(
    base: Manifest | None, indexed: Sequence[CatalogEntry], on_disk: Scan, recipe: str
) -> Plan:
    """The plan for an index to be made by `recipe` from the one of `base`, or from nothing."""
    same = base is not None and base.recipe == recipe
    # A file that took its converter a minute in vain is not tried again until it changes.
    aside = set_aside(base.report) if base and same else NONE_SET_ASIDE
    return make_plan(on_disk, indexed, same_recipe=same, aside=aside)


def make_plan(
    on_disk: Scan, indexed: Sequence[CatalogEntry], *, same_recipe: bool,
    aside: SetAside = NONE_SET_ASIDE,
) -> Plan:  # fmt: skip
    """Compares the corpus with the catalogue. A move is a new path with a gone file's bytes.

    With another recipe (chunk sizes, parser) than the catalogue's, every file has to be redone.
    `aside` holds what is known to be no document, by root, path and hash.
    """
    entries = {(entry.root, entry.path): entry for entry in indexed}
    unchanged: list[CatalogEntry] = []
    other: list[tuple[FileVersion, CatalogEntry | None]] = []
    for version in on_disk.versions:
        entry = entries.pop(version[:2], None)
        if entry and same_recipe and _is_same(entry, version):
            unchanged.append(entry)
        else:
            other.append((version, entry))
    unreadable = [s for s in on_disk.skipped if "unreadable" in s.reason]
    held = [entry for entry in entries.values() if _is_unreadable(entry, unreadable)]
    gone = [entry for entry in entries.values() if entry not in held]
    todo, known = _sorted_out(other, {entry.sha256: entry for entry in gone}, aside)
    moved = {t.old.number for t in todo if t.old and t.change == "renamed"}
    left = tuple(entry for entry in gone if entry.number not in moved)
    return Plan(todo, left, tuple(unchanged), tuple(held), (*on_disk.skipped, *known))


def _sorted_out(
    other: Sequence[tuple[FileVersion, CatalogEntry | None]],
    gone: dict[str, CatalogEntry],
    aside: SetAside,
) -> tuple[tuple[PlannedFile, ...], list[SkippedFile]]:
    """What to do about files that aren't as they were, and those known to be no documents."""
    todo, skipped = [], []
    for version, entry in other:
        if entry:
            todo.append(PlannedFile("changed", version, entry))
        elif known := aside.get((version.root, version.path, version.sha256)):
            skipped.append(known)
        elif former := gone.pop(version.sha256, None):
            todo.append(PlannedFile("renamed", version, former))
        else:
            todo.append(PlannedFile("new", version, None))
    return tuple(todo), skipped


def _is_same(entry: CatalogEntry, version: FileVersion) -> bool:
    return entry.sha256 == version.sha256 and entry.location == version.location


def _is_unreadable(entry: CatalogEntry, unreadable: Sequence[SkippedFile]) -> bool:
    """Whether the file, or a folder above it, is there but could not be read this time."""
    return any(
        s.root == entry.root
        and (s.path in (entry.path, WHOLE_ROOT)
             or (s.path.endswith("/") and entry.path.startswith(s.path)))
        for s in unreadable
    )  # fmt: skip


def check_roots_known(known: Sequence[RootState], roots: Sequence[Root]) -> None:
    """Refuses to put other folders in the place of all that the index is of.

    A run without the settings of the one before would put the sample corpus in place of notes.

    Raises:
        CorpusUnavailable: the index has documents, and none of the roots that they are from is
            among those of this run.
    """
    had = [state.path for state in known if state.files]
    if had and not set(had) & {str(root.path) for root in roots}:
        folders = ", ".join(str(root.path) for root in roots)
        what = f"The index is of {', '.join(had)}, but RAG_CORPUS_DIR names {folders}."
        remedy = "Correct it, or confirm with --allow-empty that all is to be replaced."
        raise CorpusUnavailable(what, remedy)


def check_roots_present(
    on_disk: Scan, indexed: Sequence[CatalogEntry], roots: Sequence[Root]
) -> None:
    """Refuses to take a root that has become empty for a deletion of all its documents.

    Raises:
        CorpusUnavailable: a root has no documents now and had some, or none has any.
    """
    # A folder that is named as one that cannot be looked into has not become empty.
    closed = [s for s in on_disk.skipped if s.wanted and s.path.endswith("/")]
    present = {version.root for version in on_disk.versions}
    present |= {entry.root for entry in indexed if _is_unreadable(entry, closed)}
    had = {entry.root for entry in indexed}
    for root in roots:
        if root.name in had - present:
            what = f"{root.path} holds no documents, but the index has some from it."
            raise CorpusUnavailable(what, "Mount the disk, or confirm with --allow-empty.")
    if not present and not closed:
        folders = ", ".join(str(root.path) for root in roots)
        what = f"{folders} holds no documents."
        raise CorpusUnavailable(what, "Correct RAG_CORPUS_DIR, or confirm with --allow-empty.")
