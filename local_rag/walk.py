"""Which files of a root are documents, and the only way in which a file is opened.

In a git repository git says which files count; elsewhere every file but a few kinds of folders
and hidden ones. Symbolic links are never followed, so nothing outside a root is ever read. Every
file that is no document is named with the reason, or the folder is in which all are left out.
Leaves out what a file's bytes mean (`documents`).
"""

from __future__ import annotations

import errno
import math
import os
import stat
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from local_rag.credentials import BY_NAME, is_secret_name
from local_rag.errors import PathRefused
from local_rag.formats import format_of, is_generated
from local_rag.git import Listing, is_in_repository, list_repository
from local_rag.ignores import LARGEST, NAME, Ignores, parse_ignores
from local_rag.settings import Root

EXCLUDED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "$RECYCLE.BIN", "__MACOSX"}
)
GIT_AWAY = "git cannot list this repository: its .gitignore files alone are obeyed"
# O_NONBLOCK: a FIFO put in a file's place would block open() for ever. Windows lacks some.
OPEN_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)
ATTEMPTS = 3  # at reading a file that is being written to
LEFT_OUT_BY_GIT = "left out by git"


@dataclass(frozen=True)
class Found:
    """A document's file: identity (`root`, `path`), and where it lies."""

    root: str
    path: str
    location: Path


@dataclass(frozen=True)
class Skipped:
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
class Content:
    """A file's bytes with the size and modification time (ns) they had when read."""

    data: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Scope:
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
    listing: Listing | None = None
    git_away: bool = False


def walk(root: Root, scope: Scope = Scope()) -> Iterator[Found | Skipped]:
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
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not folder.prefix:
                raise
            reason = f"folder unreadable: {error.strerror}"
            yield Skipped(root.name, _shown(folder.prefix), reason, wanted=True)
            continue
        folder, troubles = _entered(folder, {entry.name for entry in entries})
        for path, reason, wanted in troubles:
            yield Skipped(root.name, _shown(path), reason, wanted)
        for entry in entries:
            item = _judge(root, scope, folder, entry)
            if isinstance(item, _Folder):
                pending.append(item)
            elif isinstance(item, Skipped):
                yield item
            else:
                files.append(item)
    for path, location in _identities(files):
        yield Found(root.name, path, Path(location))


def _identities(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names each file by its NFC path; a twin that differs only in form keeps its own spelling."""
    taken = {raw for raw, _ in files}
    named = []
    for raw, location in files:
        nfc = unicodedata.normalize("NFC", raw)
        named.append((raw if nfc != raw and nfc in taken else nfc, location))
    return sorted(named)


def _entered(folder: _Folder, names: set[str]) -> tuple[_Folder, list[tuple[str, str, bool]]]:
    """The folder with its own ignore files and git's listing, and what was wrong with them."""
    troubles = []
    here = Path(folder.location)
    if ".git" in names or (not folder.prefix and is_in_repository(here)):
        listing = list_repository(here, folder.prefix)
        away = listing is None and ".git" in names
        folder = replace(folder, listing=listing, git_away=away)
        if folder.git_away:
            troubles.append((folder.prefix + ".git/", GIT_AWAY, False))
    for name in (NAME, ".gitignore") if folder.git_away else (NAME,):
        if name in names and (data := _read_ignores(here / name)) is not None:
            file, bad = parse_ignores(data, folder.prefix, name)
            folder = replace(folder, ignores=folder.ignores.with_file(file))
            troubles += [(folder.prefix + name, f"line {n} is no pattern", True) for n in bad]
    return folder, troubles


def _read_ignores(location: Path) -> bytes | None:
    try:
        return read_inside(location.parent, location, LARGEST).data
    except (OSError, ValueError, PathRefused):  # _judge names it, as a link or unreadable
        return None


def _judge(
    root: Root, scope: Scope, folder: _Folder, entry: os.DirEntry[str]
) -> _Folder | Skipped | tuple[str, str]:
    """The one decision about an entry: a folder to enter, a document, or left out and why."""
    path = folder.prefix + entry.name
    if entry.is_dir(follow_symlinks=False):
        reason = _against_folder(scope, folder, entry, path + "/")
        if reason is None:
            return replace(folder, location=entry.path, prefix=path + "/")
        return Skipped(root.name, _shown(path) + "/", reason, wanted=False)
    reason = _link(root, entry) if entry.is_symlink() else _against_file(folder, entry, path)
    if reason is not None:
        return Skipped(root.name, _shown(path), reason, wanted=False, secret=reason == BY_NAME)
    if not path.isascii() and _shown(path) != path:
        return Skipped(root.name, _shown(path), "name is not UTF-8", wanted=True)
    return path, entry.path


def _against_folder(
    scope: Scope, folder: _Folder, entry: os.DirEntry[str], path: str
) -> str | None:
    if scope.store and Path(entry.path) == scope.store:
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
    if is_generated(entry.name):
        return "made by a program for programs"
    return None if format_of(entry.name) else "not a document format"


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


def read_inside(root: Path, location: Path, max_bytes: int) -> Content:
    """Reads a regular file that lies inside `root` without passing any link on the way.

    Raises:
        PathRefused: the path now leads through a link, or to something that is no regular file.
        OSError: the file is gone or unreadable.
        ValueError: the file is larger than `max_bytes`.
    """
    try:
        handle = os.open(location, OPEN_FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:  # O_NOFOLLOW met a link
            raise _refused(location) from error
        raise
    try:
        path = str(location)
        if _true_path(handle, path) != path or not path.startswith(
            str(root).rstrip(os.sep) + os.sep
        ):
            raise _refused(location)
        return _content(handle, location, max_bytes)
    finally:
        os.close(handle)


def _content(handle: int, location: Path, max_bytes: int) -> Content:
    """The bytes as they were at one moment, as an editor may be writing to the file just now.

    One that never stands still, such as a log, is taken as it comes: the next run reads it again.
    """
    status = os.fstat(handle)
    for _ in range(ATTEMPTS):
        if not stat.S_ISREG(status.st_mode):
            raise PathRefused(f"{location.name} is no longer a file.", "Run ingest.py.")
        if status.st_size > max_bytes:
            raise ValueError(f"larger than {max_bytes / 1e6:g} MB")
        content = Content(_read(handle, status.st_size), status.st_size, status.st_mtime_ns)
        before, status = status, os.fstat(handle)
        if (before.st_size, before.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
            break
        os.lseek(handle, 0, os.SEEK_SET)
    return content


def _refused(location: Path) -> PathRefused:
    return PathRefused(f"{location.name} now leads elsewhere.", "Run ingest.py to index it anew.")


def _read(handle: int, size: int) -> bytes:
    """Up to `size` bytes: what a file gains while it is read is the next run's."""
    data = os.read(handle, size)
    while len(data) < size and (more := os.read(handle, size - len(data))):
        data += more
    return data


def _true_path(handle: int, location: str) -> str:
    """Where the open file lies. Linux knows; elsewhere the path is resolved anew."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - 30,000 times a run
    except OSError:
        return os.path.realpath(location)
