"""The corpus on disk: every document is read and hashed, as modification times lie."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from local_rag.corpus.safe_open import FileContent, SafeFolder, read_inside
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.corpus.walk import FoundFile, WalkScope, walk
from local_rag.documents.formats.registry import HEAVY
from local_rag.errors import CorpusUnavailable, PathRefused
from local_rag.settings import Root


class FileVersion(NamedTuple):
    """Where a file lay and what it was when it was read. A named tuple, as `FoundFile` is."""

    root: str
    path: str
    location: str
    sha256: str
    size: int
    mtime_ns: int


Read = Callable[[str, int], FileContent]
"""Reads the file at a location, of at most so many bytes."""


@dataclass(frozen=True)
class Scan:
    """Every readable document with its version, and what was skipped."""

    versions: tuple[FileVersion, ...]
    skipped: tuple[SkippedFile, ...]


def scan(roots: Sequence[Root], max_bytes: int, scope: WalkScope = WalkScope()) -> Scan:  # noqa: B008
    """Walks the roots and hashes every document.

    Raises:
        CorpusUnavailable: a root is missing or cannot be listed.
    """
    versions: list[FileVersion] = []
    skipped: list[SkippedFile] = []
    for root in roots:
        with closing(SafeFolder(root.path)) as files:
            for item in _listing(root, scope):
                if isinstance(item, SkippedFile):
                    skipped.append(item)
                    continue
                content = _content(files.read, item, max_bytes)
                if isinstance(content, SkippedFile):
                    skipped.append(content)
                else:
                    versions.append(_version(item, content))
    return Scan(tuple(versions), tuple(skipped))


def _listing(root: Root, scope: WalkScope) -> Iterable[FoundFile | SkippedFile]:
    try:
        yield from walk(root, scope)
    except OSError as error:
        what = f"The corpus folder {root.path} cannot be read ({error.strerror})."
        remedy = "Mount the disk, or set RAG_CORPUS_DIR to a folder that exists."
        raise CorpusUnavailable(what, remedy) from error


def read_version(
    root: Root, found: FoundFile | FileVersion, max_bytes: int
) -> tuple[FileVersion, FileContent] | SkippedFile:
    """A document's version and bytes, or why it cannot be read.

    The hash of a version is kept if the file has the same size and time again.
    """
    content = _content(lambda at, most: read_inside(root.path, Path(at), most), found, max_bytes)
    return content if isinstance(content, SkippedFile) else (_version(found, content), content)


def _version(found: FoundFile | FileVersion, content: FileContent) -> FileVersion:
    if isinstance(found, FileVersion) and found[4:] == content[1:]:
        return found
    digest = hashlib.sha256(content[0]).hexdigest()
    return FileVersion(found[0], found[1], found[2], digest, content[1], content[2])


def _content(
    read: Read, found: FoundFile | FileVersion, max_bytes: int
) -> FileContent | SkippedFile:
    path = found[1]
    try:
        return read(found[2], max_bytes * HEAVY.get(path[path.rfind(".") :].lower(), 1))
    except PathRefused:
        kind, reason = SkipKind.FAILED, "changed into a link or a folder while it was read"
    except ValueError as error:
        kind, reason = SkipKind.FAILED, str(error)
    except OSError as error:
        why = error.strerror or ""
        return SkippedFile(found[0], path, SkipKind.UNREADABLE, "unreadable", why)
    return SkippedFile(found[0], path, kind, reason)
