"""What an ingest has to do: the corpus on disk compared with the catalog. Reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from local_rag.corpus.scan import FileVersion, Scan
from local_rag.corpus.skipped import WHOLE_ROOT, SkipKind, SkippedFile
from local_rag.errors import CorpusUnavailable
from local_rag.index.catalog import CatalogEntry
from local_rag.index.manifest import NONE_SET_ASIDE, RootState, SetAside, set_aside
from local_rag.index.snapshots import Snapshot
from local_rag.ingest.base_snapshot import BaseSnapshot
from local_rag.settings import Root, set_by

Change = Literal["new", "changed", "renamed"]
OUTDATED = "An earlier version of this program wrote the index, so it is rebuilt."
OTHER_RECIPE = "The program or its settings now index documents differently, so all are reindexed."


@dataclass(frozen=True)
class PlannedFile:
    """A file to be indexed; `old` is its entry in the catalog, perhaps under a former name."""

    change: Change
    version: FileVersion
    old: CatalogEntry | None


@dataclass(frozen=True)
class Plan:
    """What to do. `held` files are indexed and cannot be read now; they stay as they are.

    `start` is the snapshot to build on, None to build from nothing. `why_all` says why files are
    indexed again that have not changed.
    """

    todo: tuple[PlannedFile, ...]
    gone: tuple[CatalogEntry, ...]
    unchanged: tuple[CatalogEntry, ...]
    held: tuple[CatalogEntry, ...]
    skipped: tuple[SkippedFile, ...]
    start: Snapshot | None = None
    why_all: str = ""


def plan_from(base: BaseSnapshot, on_disk: Scan, recipe: str, *, anew: bool = False) -> Plan:
    """The plan for an index made by `recipe`: built on `base` unless that is outdated."""
    start = None if anew or base.is_outdated else base.snapshot
    if start is None:
        plan = make_plan(on_disk, (), same_recipe=False)
        return replace(plan, why_all=OUTDATED if base.is_outdated else "")
    same = start.manifest.recipe == recipe
    # A file that took its converter a minute in vain is not tried again until it changes.
    aside = set_aside(start.manifest.report) if same else NONE_SET_ASIDE
    plan = make_plan(on_disk, base.files, same_recipe=same, aside=aside)
    return replace(plan, start=start, why_all="" if same else OTHER_RECIPE)


def make_plan(
    on_disk: Scan, indexed: Sequence[CatalogEntry], *, same_recipe: bool,
    aside: SetAside = NONE_SET_ASIDE,
) -> Plan:  # fmt: skip
    """Compares the corpus with the catalog. A move is a new path with a gone file's bytes.

    If the catalog was made by another recipe (chunk sizes, parser), every file is indexed again.
    `aside` holds files that are known not to be indexable, by root, path and hash.
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
    unreadable = [s for s in on_disk.skipped if s.kind is SkipKind.UNREADABLE]
    held = [entry for entry in entries.values() if _is_unreadable(entry, unreadable)]
    kept = {entry.number for entry in held}
    gone = [entry for entry in entries.values() if entry.number not in kept]
    todo, known = _sorted_out(other, {entry.sha256: entry for entry in gone}, aside)
    moved = {t.old.number for t in todo if t.old and t.change == "renamed"}
    left = tuple(entry for entry in gone if entry.number not in moved)
    return Plan(todo, left, tuple(unchanged), tuple(held), (*on_disk.skipped, *known))


def _sorted_out(
    other: Sequence[tuple[FileVersion, CatalogEntry | None]],
    gone: dict[str, CatalogEntry],
    aside: SetAside,
) -> tuple[tuple[PlannedFile, ...], list[SkippedFile]]:
    """What to do about files that are not as they were, and which of them are set aside."""
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
    """Refuses to replace the whole index with other folders.

    A run without the settings of the run before would replace one corpus with another.

    Raises:
        CorpusUnavailable: no root of this run is one from which the index has documents.
    """
    had = [state.path for state in known if state.files]
    if had and not set(had) & {str(root.path) for root in roots}:
        folders = ", ".join(str(root.path) for root in roots)
        built_from = ", ".join(had)
        where = set_by("corpus_dir")
        what = f"The index was built from {built_from}, but {where} lists only {folders}."
        remedy = "Fix the setting, or pass --allow-empty to replace the whole index."
        raise CorpusUnavailable(what, remedy)


def check_roots_present(
    on_disk: Scan, indexed: Sequence[CatalogEntry], roots: Sequence[Root]
) -> None:
    """Refuses to treat a root that has become empty as a deletion of all its documents.

    Raises:
        CorpusUnavailable: a root that had documents has none now, or no root has any.
    """
    # A folder that is named as one that cannot be looked into has not become empty.
    closed = [s for s in on_disk.skipped if s.wanted and s.path.endswith("/")]
    present = {version.root for version in on_disk.versions}
    present |= {entry.root for entry in indexed if _is_unreadable(entry, closed)}
    had = {entry.root for entry in indexed}
    for root in roots:
        if root.name in had - present:
            what = f"{root.path} holds no documents, but the index has some from it."
            raise CorpusUnavailable(what, "Mount the disk, or pass --allow-empty to remove them.")
    if not present and not closed:
        folders = ", ".join(str(root.path) for root in roots)
        what = f"{folders} holds no documents."
        remedy = f"Set {set_by('corpus_dir')} to a folder of documents, or pass --allow-empty."
        raise CorpusUnavailable(what, remedy)
