"""Which files of a root are documents.

In a git repository git says which files count; elsewhere every file but a few kinds of folders
and hidden ones. Symbolic links are never followed, so nothing outside a root is ever read. Every
file that is no document is named with the reason, or the folder is in which all are left out.
Leaves out how a file is opened (`opening`) and what its bytes mean (`documents`).
"""

from __future__ import annotations

import math
import os
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from local_rag.corpus.git import GitListing, is_in_repository, list_repository
from local_rag.corpus.gitignore import IGNORE_FILE, LARGEST_IGNORE_FILE, Ignores, parse_ignores
from local_rag.corpus.safe_open import read_inside
from local_rag.corpus.secret_files import BY_NAME, is_secret_name
from local_rag.documents.formats.registry import format_of, is_generated
from local_rag.errors import PathRefused

if TYPE_CHECKING:
    from local_rag.settings import Root  # with pydantic, too slow for a server's first answers

EXCLUDED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "$RECYCLE.BIN", "__MACOSX"}
)
GIT_AWAY = "git cannot list this repository: its .gitignore files alone are obeyed"
SPECIAL = frozenset(
    {".git", ".gitignore", IGNORE_FILE}
)  # what changes which files of a folder count
LEFT_OUT_BY_GIT = "left out by git"


class FoundFile(NamedTuple):
    """A document's file: identity (`root`, `path`), and where it lies.

    A named tuple, which is made in a quarter of a frozen dataclass's time: a run makes 30,000.
    """

    root: str
    path: str
    location: str


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not indexed, or with `/` at the end of its path a whole folder.

    `wanted` tells a document that failed from one that is left out on purpose; `secret` one that
    is left out as it holds secrets. `sha256` is of the bytes, where they are the reason.
    """

    root: str
    path: str
    reason: str
    wanted: bool
    secret: bool = False
    sha256: str = field(default="", compare=False)


@dataclass(frozen=True)
class WalkScope:
    """What holds for all roots: the ignore file beside the store, and the store itself.

    A walk ends at the monotonic time `until` with what it has found by then.
    """

    ignores: Ignores = field(default_factory=Ignores)
    store: Path | None = None
    until: float = math.inf


@dataclass(frozen=True)
class _Folder:
    """A folder on the way: where it lies, its path from the root, and what holds in it."""

    location: str
    prefix: str
    ignores: Ignores
    listing: GitListing | None = None
    git_away: bool = False


def walk(root: Root, scope: WalkScope = WalkScope()) -> Iterator[FoundFile | SkippedFile]:
    """Every file below `root`, as a document or with the reason why not, in a stable order.

    Raises:
        OSError: the root itself cannot be listed.
    """
    files: list[tuple[str, str]] = []
    pending = [_Folder(str(root.path), "", scope.ignores)]
    while pending and time.monotonic() < scope.until:
        folder = pending.pop()
        try:
            with os.scandir(folder.location) as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as error:
            if not folder.prefix:
                raise
            reason = f"folder unreadable: {error.strerror}"
            yield SkippedFile(root.name, _shown(folder.prefix), reason, wanted=True)
            continue
        folder, troubles = _entered(folder, {entry.name for entry in entries})
        for path, reason, wanted in troubles:
            yield SkippedFile(root.name, _shown(path), reason, wanted)
        for entry in entries:
            item = _judge(root, scope, folder, entry)
            if isinstance(item, _Folder):
                pending.append(item)
            elif isinstance(item, SkippedFile):
                yield item
            else:
                files.append(item)
    for path, location in _identities(files):
        yield FoundFile(root.name, path, location)


def _identities(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names each file by its NFC path; a twin that differs only in form keeps its own spelling."""
    odd = [file for file in files if not file[0].isascii()]
    taken = {raw for raw, _ in files} if odd else set()
    named = [file for file in files if file[0].isascii()]
    for raw, location in odd:
        nfc = unicodedata.normalize("NFC", raw)
        named.append((raw if nfc != raw and nfc in taken else nfc, location))
    return sorted(named)


def _entered(folder: _Folder, names: set[str]) -> tuple[_Folder, list[tuple[str, str, bool]]]:
    """The folder with its own ignore files and git's listing, and what was wrong with them."""
    troubles: list[tuple[str, str, bool]] = []
    if folder.prefix and not names & SPECIAL:
        return folder, troubles
    here = Path(folder.location)
    if ".git" in names or (not folder.prefix and is_in_repository(here)):
        listing = list_repository(here, folder.prefix)
        away = listing is None and ".git" in names
        folder = replace(folder, listing=listing, git_away=away)
        if folder.git_away:
            troubles.append((folder.prefix + ".git/", GIT_AWAY, False))
    for name in (IGNORE_FILE, ".gitignore") if folder.git_away else (IGNORE_FILE,):
        if name in names and (data := _read_ignores(here / name)) is not None:
            file, bad = parse_ignores(data, folder.prefix, name)
            folder = replace(folder, ignores=folder.ignores.with_file(file))
            troubles += [(folder.prefix + name, f"line {n} is no pattern", True) for n in bad]
    return folder, troubles


def _read_ignores(location: Path) -> bytes | None:
    try:
        return read_inside(location.parent, location, LARGEST_IGNORE_FILE).data
    except (OSError, ValueError, PathRefused):  # _judge names it, as a link or unreadable
        return None


def _judge(
    root: Root, scope: WalkScope, folder: _Folder, entry: os.DirEntry[str]
) -> _Folder | SkippedFile | tuple[str, str]:
    """The one decision about an entry: a folder to enter, a document, or left out and why."""
    path = folder.prefix + entry.name
    if entry.is_dir(follow_symlinks=False):
        reason = _against_folder(scope, folder, entry, path + "/")
        if reason is None:
            return replace(folder, location=entry.path, prefix=path + "/")
        return SkippedFile(root.name, _shown(path) + "/", reason, wanted=False)
    reason = _link(root, entry) if entry.is_symlink() else _against_file(folder, entry, path)
    if reason is not None:
        return SkippedFile(root.name, _shown(path), reason, wanted=False, secret=reason == BY_NAME)
    if not path.isascii() and _shown(path) != path:
        return SkippedFile(root.name, _shown(path), "name is not UTF-8", wanted=True)
    return path, entry.path


def _against_folder(
    scope: WalkScope, folder: _Folder, entry: os.DirEntry[str], path: str
) -> str | None:
    if scope.store and entry.path == str(scope.store):
        return "the index itself"
    if entry.name == ".git":
        return "excluded folder"
    if folder.listing:
        if not folder.listing.has_below(path) and not _is_empty(entry.path):
            return LEFT_OUT_BY_GIT
    elif entry.name.startswith(".") or entry.name in EXCLUDED_FOLDERS:
        return "excluded folder"
    return folder.ignores.reason(path[:-1], is_folder=True)


def _against_file(folder: _Folder, entry: os.DirEntry[str], path: str) -> str | None:
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    if is_secret_name(path):
        return BY_NAME
    if folder.listing and not folder.listing.has_file(path):
        return LEFT_OUT_BY_GIT
    if folder.ignores.files and (reason := folder.ignores.reason(path, is_folder=False)):
        return reason
    if not folder.listing and entry.name.startswith("."):
        return "hidden file"
    if entry.name.startswith("~$"):
        return "lock file of an office program"
    if format_of(entry.name) is None:
        return "not a document format"
    return "made by a program for programs" if is_generated(entry.name) else None


def _link(root: Root, entry: os.DirEntry[str]) -> str:
    target = Path(os.path.realpath(entry.path))
    if not target.exists():
        return "link to nothing"
    return "link inside its root" if target.is_relative_to(root.path) else "link out of its root"


def _is_empty(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
