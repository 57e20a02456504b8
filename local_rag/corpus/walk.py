"""Which files of a root are documents.

In a git repository, git decides which files count. Elsewhere all do, except hidden files and a few
kinds of folders. Symbolic links are never followed, so nothing outside a root is ever read. Every
file that is left out is named with the reason, or else the folder that is left out as a whole.
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

from local_rag.corpus.git import (
    GIT_SECONDS,
    GITIGNORE,
    GitFailure,
    GitListing,
    list_repository,
)
from local_rag.corpus.gitignore import (
    IGNORE_FILE,
    Ignores,
    Unusable,
    parse_ignores,
    read_hiding_file,
)
from local_rag.corpus.secret_files import is_secret_name
from local_rag.corpus.skipped import WHOLE_ROOT, SkipKind, SkippedFile
from local_rag.documents.formats.registry import format_of, is_generated

if TYPE_CHECKING:
    from local_rag.settings import Root  # with pydantic, too slow for a server's first answers

EXCLUDED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "$RECYCLE.BIN", "__MACOSX"}
)
# What changes which files of a folder count.
SPECIAL = frozenset({".git", GITIGNORE, IGNORE_FILE})
IGNORED_BY_GIT = "ignored by git"
UNKNOWN_TO_GIT = "git cannot tell what to leave out"
UNKNOWN_RULES = "nobody can tell what to leave out"


class FoundFile(NamedTuple):
    """A document's file: identity (`root`, `path`), and where it lies.

    A named tuple is made in a quarter of the time of a frozen dataclass; a run makes 30,000.
    """

    root: str
    path: str
    location: str


@dataclass(frozen=True)
class WalkScope:
    """What applies to all roots: the ignore file beside the store, and the store itself.

    A walk stops at the monotonic time `until` with what it has found so far.
    """

    ignores: Ignores = field(default_factory=Ignores)
    store: Path | None = None
    until: float = math.inf


@dataclass(frozen=True)
class _Folder:
    """A folder to visit: where it lies, its path from the root, and the rules that apply in it."""

    location: str
    prefix: str
    ignores: Ignores
    listing: GitListing | None = None


def walk(root: Root, scope: WalkScope = WalkScope()) -> Iterator[FoundFile | SkippedFile]:
    """Every file below `root`, as a document or with the reason why it is none, in a stable order.

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
            why = error.strerror or ""
            path = _shown(folder.prefix)
            yield SkippedFile(root.name, path, SkipKind.UNREADABLE, "folder unreadable", why)
            continue
        opened, troubles = _entered(root, scope, folder, {entry.name for entry in entries})
        yield from troubles
        if opened is None:
            continue
        folder = opened
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


def _entered(
    root: Root, scope: WalkScope, folder: _Folder, names: set[str]
) -> tuple[_Folder | None, list[SkippedFile]]:
    """The folder with its own ignore file and git listing, and what is wrong with them.

    None in its place if it cannot be told what to leave out: then nothing of it is shown.
    """
    if not folder.prefix and scope.ignores.unusable:
        name = f"the {IGNORE_FILE} beside the store"
        return None, [_hidden(root, folder, name, scope.ignores.unusable)]
    if folder.prefix and not names & SPECIAL:
        return folder, []
    troubles: list[SkippedFile] = []
    here = Path(folder.location)
    if ".git" in names or not folder.prefix:
        seconds = min(GIT_SECONDS, scope.until - time.monotonic())
        listing = list_repository(here, folder.prefix, seconds)
        if isinstance(listing, GitFailure):
            detail = f"{listing.why}. {listing.remedy}"
            return None, [_closed(root, folder, SkipKind.UNREADABLE, UNKNOWN_TO_GIT, detail)]
        folder = replace(folder, listing=listing)
    for name in names & ({IGNORE_FILE, GITIGNORE} if folder.listing else {IGNORE_FILE}):
        data = read_hiding_file(here / name, strict=name == IGNORE_FILE)
        if isinstance(data, Unusable):
            return None, [_hidden(root, folder, name, data)]
        if data is not None and name == IGNORE_FILE:
            file, bad = parse_ignores(data, folder.prefix)
            folder = replace(folder, ignores=folder.ignores.with_file(file))
            path = _shown(folder.prefix + name)
            troubles += [
                SkippedFile(root.name, path, SkipKind.UNDECIDED, "invalid pattern", f"line {n}")
                for n in bad
            ]
    return folder, troubles


def _hidden(root: Root, folder: _Folder, name: str, file: Unusable) -> SkippedFile:
    detail = f"{name} {file.why}. {file.remedy}"
    return _closed(root, folder, SkipKind.UNDECIDED, UNKNOWN_RULES, detail)


def _closed(root: Root, folder: _Folder, kind: SkipKind, reason: str, detail: str) -> SkippedFile:
    return SkippedFile(root.name, _shown(folder.prefix) or WHOLE_ROOT, kind, reason, detail)


def _judge(
    root: Root, scope: WalkScope, folder: _Folder, entry: os.DirEntry[str]
) -> _Folder | SkippedFile | tuple[str, str]:
    """Decides about an entry: a folder to visit, a document, or a file to skip."""
    path = folder.prefix + entry.name
    if entry.is_dir(follow_symlinks=False):
        reason = _against_folder(scope, folder, entry, path + "/")
        if reason is None:
            return replace(folder, location=entry.path, prefix=path + "/")
        return SkippedFile(root.name, _shown(path) + "/", SkipKind.LEFT_OUT, reason)
    reason, kind = None, SkipKind.LEFT_OUT
    if entry.is_symlink():
        reason = _link(root, entry)
    elif not entry.is_file(follow_symlinks=False):
        reason = "not a regular file"
    elif is_secret_name(path):
        reason, kind = "secret file by its name", SkipKind.SECRET
    elif (reason := _against_file(folder, entry, path)) is None and _shown(path) != path:
        reason, kind = "name is not UTF-8", SkipKind.FAILED
    if reason is None:
        return path, entry.path
    return SkippedFile(root.name, _shown(path), kind, reason)


def _against_folder(
    scope: WalkScope, folder: _Folder, entry: os.DirEntry[str], path: str
) -> str | None:
    if scope.store and entry.path == str(scope.store):
        return "the index itself"
    if entry.name == ".git":
        return "excluded folder"
    if folder.listing:
        if not folder.listing.has_below(path) and not _is_empty(entry.path):
            return IGNORED_BY_GIT
    elif entry.name.startswith(".") or entry.name in EXCLUDED_FOLDERS:
        return "excluded folder"
    return folder.ignores.reason(path[:-1], is_folder=True)


def _against_file(folder: _Folder, entry: os.DirEntry[str], path: str) -> str | None:
    if folder.listing and not folder.listing.has_file(path):
        return IGNORED_BY_GIT
    if folder.ignores.files and (reason := folder.ignores.reason(path, is_folder=False)):
        return reason
    if not folder.listing and entry.name.startswith("."):
        return "hidden file"
    if entry.name.startswith("~$"):
        return "lock file of an office program"
    if format_of(entry.name) is None:
        return "not a document format"
    return "generated file" if is_generated(entry.name) else None


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
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode("utf-8")
