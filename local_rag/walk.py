"""Which files of a root are documents, and the only way in which a file is opened.

Symbolic links are never followed, so nothing outside a root is ever read. Leaves out what a
file's bytes mean (`documents`) and ignore files.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_rag.errors import PathRefused
from local_rag.settings import Root

SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".qmd", ".rmd", ".txt", ".text", ".rst", ".org",
                      ".adoc"})  # fmt: skip
EXCLUDED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "$RECYCLE.BIN"})


@dataclass(frozen=True)
class Found:
    """A document's file: identity (`root`, `path`), where it lies, and what `lstat` said."""

    root: str
    path: str
    location: Path


@dataclass(frozen=True)
class Skipped:
    """A file that is not indexed. `wanted` tells a document that failed from one left out."""

    root: str
    path: str
    reason: str
    wanted: bool


@dataclass(frozen=True)
class Content:
    """A file's bytes with the size and modification time (ns) they had when read."""

    data: bytes
    size: int
    mtime_ns: int


def walk(root: Root) -> Iterator[Found | Skipped]:
    """Every file below `root`, as a document or with the reason why not, in a stable order.

    Raises:
        OSError: the root itself cannot be listed.
    """
    files: list[tuple[str, Path]] = []
    for item in _files_below(root):
        if isinstance(item, Skipped):
            yield item
        else:
            files.append(item)
    for path, (_, location) in _identities(files):
        yield Found(root.name, path, location)


def _identities(files: list[tuple[str, Path]]) -> list[tuple[str, tuple[str, Path]]]:
    """Names each file by its NFC path; a twin that differs only in form keeps its own spelling."""
    taken = {raw for raw, _ in files}
    named = []
    for raw, location in files:
        nfc = unicodedata.normalize("NFC", raw)
        named.append((raw if nfc != raw and nfc in taken else nfc, (raw, location)))
    return sorted(named)


def _files_below(root: Root) -> Iterator[tuple[str, Path] | Skipped]:
    pending = [(root.path, "")]
    while pending:
        folder, prefix = pending.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise
            yield Skipped(root.name, prefix, f"folder unreadable: {error.strerror}", wanted=True)
            continue
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _is_excluded_folder(entry.name):
                    pending.append((Path(entry.path), path + "/"))
                continue
            yield _classify(root, entry, path)


def _is_excluded_folder(name: str) -> bool:
    return name.startswith(".") or name in EXCLUDED_FOLDERS


def _classify(root: Root, entry: os.DirEntry[str], path: str) -> tuple[str, Path] | Skipped:
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    if entry.is_symlink():
        return _link(root, entry, shown)
    if shown != path:
        return Skipped(root.name, shown, "name is not UTF-8", wanted=True)
    if not entry.is_file(follow_symlinks=False):
        return Skipped(root.name, path, "not a regular file", wanted=False)
    if entry.name.startswith("."):
        return Skipped(root.name, path, "hidden file", wanted=False)
    if not is_document_name(entry.name):
        return Skipped(root.name, path, "not a document format", wanted=False)
    return path, Path(entry.path)


def _link(root: Root, entry: os.DirEntry[str], shown: str) -> Skipped:
    target = Path(os.path.realpath(entry.path))
    if not target.exists():
        return Skipped(root.name, shown, "link to nothing", wanted=False)
    if target.is_relative_to(root.path):
        return Skipped(root.name, shown, "link inside its root", wanted=False)
    return Skipped(root.name, shown, "link out of its root", wanted=False)


def is_document_name(name: str) -> bool:
    """Whether a file of this name is a document: a known suffix, or a bare README and the like."""
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a name, not a path
    return suffix in SUFFIXES or (not suffix and name.isupper())


def read_inside(root: Path, location: Path, max_bytes: int) -> Content:
    """Reads a regular file that lies inside `root` without passing any link on the way.

    Raises:
        PathRefused: the path now leads through a link, or to something that is no regular file.
        OSError: the file is gone or unreadable.
        ValueError: the file is larger than `max_bytes`.
    """
    if Path(os.path.realpath(location)) != location or not location.is_relative_to(root):
        raise PathRefused(
            f"{location.name} now leads elsewhere.", "Run ingest.py to index it anew."
        )
    # O_NONBLOCK: a FIFO put in the file's place would block open() for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(location, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise PathRefused(f"{location.name} is no longer a file.", "Run ingest.py.")
        if status.st_size > max_bytes:
            raise ValueError(f"larger than {max_bytes / 1e6:g} MB")
        data = file.read(max_bytes + 1)
    return Content(data, status.st_size, status.st_mtime_ns)
