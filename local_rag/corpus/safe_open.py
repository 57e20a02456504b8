"""The only way to open a file of the corpus: inside its root, through no link, and no pipe."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

from local_rag.errors import PathRefused

# O_NONBLOCK: a FIFO in place of a file would block open() forever. Windows lacks some of these.
OPEN_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
)
SEPARATOR = os.sep
READ_ATTEMPTS = 3  # for a file that is being written to


class FileContent(NamedTuple):
    """A file's bytes with the size and modification time (ns) they had when read."""

    data: bytes
    size: int
    mtime_ns: int


def read_inside(root: Path, location: Path, max_bytes: int) -> FileContent:
    """Reads a regular file that lies inside `root` without passing any link on the way.

    Raises:
        PathRefused: the path now leads through a link, or not to a regular file.
        OSError: the file is gone or unreadable.
        ValueError: the file is larger than `max_bytes`.
    """
    handle = _opened(str(location))
    try:
        _check_place(handle, str(location), str(root))
        return _content(handle, location.name, max_bytes)
    finally:
        os.close(handle)


class SafeFolder:
    """Reads many files of one root, folder by folder. Close it.

    Each folder is opened and checked once, and its files are opened relative to it: no link can
    slip in between, and the path of each file need not be checked.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder, self._handle = "", -1

    def read(self, location: str, max_bytes: int) -> FileContent:
        """Like `read_inside`."""
        at = location.rfind(SEPARATOR)
        if location[:at] != self._folder:
            if os.open not in os.supports_dir_fd:  # Windows
                return read_inside(self._root, Path(location), max_bytes)
            self._enter(location[:at])
        name = location[at + 1 :]
        handle = _opened(name, self._handle)
        try:
            return _content(handle, name, max_bytes)
        finally:
            os.close(handle)

    def _enter(self, folder: str) -> None:
        self.close()
        handle = _opened(folder)
        try:
            _check_place(handle, folder, str(self._root))
        except BaseException:
            os.close(handle)
            raise
        self._folder, self._handle = folder, handle

    def close(self) -> None:
        """Releases the folder that was read last."""
        if self._handle >= 0:
            os.close(self._handle)
        self._folder, self._handle = "", -1


def _opened(path: str, folder: int | None = None) -> int:
    try:
        return os.open(path, OPEN_FLAGS, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # O_NOFOLLOW met a link
            raise _refused(path) from error
        raise


def _check_place(handle: int, path: str, root: str) -> None:
    """Raises `PathRefused` unless the open file lies where `path` says, inside `root`."""
    inside = path == root or path.startswith(root.rstrip(os.sep) + os.sep)
    try:
        there = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - for every folder of a run
    except OSError:  # only Linux tells where an open file lies
        there = os.path.realpath(path)
    if not inside or there != path:
        raise _refused(path)


def _content(handle: int, name: str, max_bytes: int) -> FileContent:
    """The bytes as they were at one moment, although an editor may be writing to the file.

    A file that changes all the time, such as a log, is taken as it comes: the next run reads it
    again.
    """
    status = os.fstat(handle)
    for _ in range(READ_ATTEMPTS):
        size, mtime_ns = status.st_size, status.st_mtime_ns
        if not stat.S_ISREG(status.st_mode):
            raise PathRefused(f"{name} is no longer a regular file.", "Run ingest.py.")
        if size > max_bytes:
            raise ValueError(f"larger than {max_bytes / 1e6:g} MB")
        data = _read(handle, size)
        status = os.fstat(handle)
        if status.st_mtime_ns == mtime_ns and status.st_size == size:
            break
        os.lseek(handle, 0, os.SEEK_SET)
    return FileContent(data, size, mtime_ns)


def _read(handle: int, size: int) -> bytes:
    """Up to `size` bytes: what is appended meanwhile is left to the next run."""
    data = os.read(handle, size)
    while len(data) < size and (more := os.read(handle, size - len(data))):
        data += more
    return data


def _refused(path: str) -> PathRefused:
    name = path.rpartition(os.sep)[2]
    return PathRefused(f"{name} now leads elsewhere.", "Run ingest.py to index it again.")
