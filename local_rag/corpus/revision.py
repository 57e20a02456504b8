"""The commit of a folder, and whether its files differ from it, as far as that can be told.

`git status` runs the filters that a repository names. Without them a file is known to be
unchanged by its size and times, as git knows it, or by its hash; and known to be changed where no
filter and no line ending stands between its bytes and the commit's. For any other it is unknown.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from local_rag.corpus.git import GIT_SECONDS, GitFailure, run_git
from local_rag.corpus.safe_open import read_inside
from local_rag.errors import PathRefused

LARGEST_HASHED = 100_000_000  # bytes
NOT_COMPARED = 0x8000 | 1 << 30  # git's flags "assume unchanged" and "skip worktree"
CONVERTING = ("text", "crlf", "eol", "ident", "filter", "working-tree-encoding")
OFF = (b"", b"false", b"no", b"off", b"0")


@dataclass(frozen=True)
class _Entry:
    """A file of the index: its mode, blob and stage, and what it was when git last compared it."""

    key: bytes  # "mode hash stage"
    path: str
    times: tuple[int, int]  # ctime and mtime, ns
    size: int
    flags: int

    @property
    def mode(self) -> bytes:
        """As git writes it, such as 100644."""
        return self.key.split()[0]

    @property
    def blob(self) -> str:
        """The hash of the committed content."""
        return self.key.split()[1].decode("ascii")


def git_revision(
    folder: Path, seconds: float = GIT_SECONDS, known: tuple[str, bool | None] = ("", False)
) -> tuple[str, bool | None]:
    """The commit of `folder` (40 hex digits or more, or empty) and whether files below it differ.

    None means that it cannot be told. At the commit of `known` that is returned: not every file
    need be looked at.
    """
    until = time.monotonic() + seconds
    found = _ask(folder, until, "rev-parse", "--verify", "--quiet", "HEAD")
    commit = found.decode("ascii", "replace").strip() if found else ""
    if not commit:
        return "", False
    return known if commit == known[0] else (commit, _differs(folder, until))


def _ask(folder: Path, until: float, *arguments: str, data: bytes | None = None) -> bytes | None:
    out = run_git(folder, *arguments, seconds=until - time.monotonic(), data=data)
    return None if isinstance(out, GitFailure) else out


def _differs(folder: Path, until: float) -> bool | None:
    others = _ask(folder, until, "ls-files", "--others", "--exclude-standard", "-z")
    tree = _ask(folder, until, "ls-tree", "-r", "-z", "HEAD")
    index = _ask(folder, until, "ls-files", "--stage", "--debug", "-z")
    if others is None or tree is None or index is None:
        return None
    try:
        entries = _entries(index)
    except ValueError:  # git does not promise that format
        return None
    if others or {(e.key, e.path) for e in entries} != set(map(_committed, tree.split(b"\0")[:-1])):
        return True
    written = _index_written(folder, until)
    looks = [_look(folder, e, written, until) for e in entries if not e.flags & NOT_COMPARED]
    if True in looks:
        return True
    changed = [look for look in looks if isinstance(look, str)]
    if changed and _is_unconverted(folder, until, changed):
        return True
    return None if changed or None in looks else False


def _committed(line: bytes) -> tuple[bytes, str]:
    """A line of `ls-tree` as the index has it."""
    head, _, path = line.partition(b"\t")
    mode, _, blob = head.split(b" ")
    return b"%s %s 0" % (mode, blob), os.fsdecode(path)


def _entries(index: bytes) -> list[_Entry]:
    """What `ls-files --stage --debug -z` prints: a name, NUL, then five lines of numbers."""
    entries = []
    while index:
        head, _, index = index.partition(b"\0")
        *lines, index = index.split(b"\n", 5)
        key, _, path = head.partition(b"\t")
        ctime, mtime, _, _, last = (line.decode("ascii").split() for line in lines)
        times = (_nanoseconds(ctime[1]), _nanoseconds(mtime[1]))
        entries.append(_Entry(key, os.fsdecode(path), times, int(last[1]), int(last[3], 16)))
    return entries


def _nanoseconds(text: str) -> int:
    seconds, _, rest = text.partition(":")
    return int(seconds) * 1_000_000_000 + int(rest)


def _look(folder: Path, entry: _Entry, written: int, until: float) -> bool | str | None:
    """Whether the file differs; its path if only its conversion can tell, None if nothing can."""
    place = folder / entry.path
    try:
        status = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return entry.mode != b"160000"
    except OSError:
        return None
    if entry.mode not in (b"100644", b"100755") or not stat.S_ISREG(status.st_mode):
        return None  # a submodule, a link, or something that took a file's place
    if _was_compared(status, entry, written):
        return False
    if status.st_size > LARGEST_HASHED or time.monotonic() > until:
        return None
    try:
        data = read_inside(folder, place, LARGEST_HASHED).data
    except (OSError, ValueError, PathRefused):
        return None
    algorithm = "sha1" if len(entry.blob) == 40 else "sha256"
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False)
    return False if digest.hexdigest() == entry.blob else entry.path


def _was_compared(status: os.stat_result, entry: _Entry, written: int) -> bool:
    """Whether the file is the one that git compared before it wrote the index.

    A time in whole seconds proves nothing, as the file may have changed within that second; nor
    does one as young as the index.
    """
    now = (status.st_ctime_ns, status.st_mtime_ns)
    exact = all(moment % 1_000_000_000 and moment < written for moment in now)
    return exact and now == entry.times and status.st_size == entry.size


def _index_written(folder: Path, until: float) -> int:
    """When the index was written, ns; 0 where that cannot be told."""
    place = _ask(folder, until, "rev-parse", "--git-path", "index") or b""
    try:
        return (folder / os.fsdecode(place).removesuffix("\n")).stat().st_mtime_ns
    except OSError:
        return 0


def _is_unconverted(folder: Path, until: float, paths: list[str]) -> bool:
    """Whether git compares at least one of the files byte by byte, so that it has changed."""
    crlf = _ask(folder, until, "config", "--default=", "--get", "core.autocrlf")
    if crlf is None or crlf.strip().lower() not in OFF:
        return False
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    said = _ask(folder, until, "check-attr", "-z", "--stdin", *CONVERTING, data=names)
    values = (said or b"").split(b"\0")[2::3]
    files = [values[at : at + len(CONVERTING)] for at in range(0, len(values), len(CONVERTING))]
    return any(set(file) == {b"unspecified"} for file in files)
