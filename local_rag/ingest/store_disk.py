"""The disk below the store: private files, its failures as one named error, where it lies."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.errors import StoreUnwritable

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOENT})
SQLITE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def replace_private(path: Path, text: str) -> None:
    """The same in one step: nobody ever reads half of it."""
    part = path.with_name(f"{path.name}.part")
    write_private(part, text)
    part.replace(path)


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Turns the system's errors about writing to `store` into `StoreUnwritable`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            what = f"There is no room for the store {store} ({error.strerror})."
            raise StoreUnwritable(what, "Free some space, then run it again.") from error
        if error.errno in REFUSED:
            raise _unwritable(store, error.strerror or "") from error
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in SQLITE:  # the upper bits are details
            raise
        raise _unwritable(store, str(error)) from error


def _unwritable(store: Path, why: str) -> StoreUnwritable:
    what = f"The store {store} cannot be written ({why})."
    remedy = "Check its permissions and the free space of its disk, then run it again."
    return StoreUnwritable(what, remedy)


# iCloud Drive is "Mobile Documents" on a Mac, where the others are in "CloudStorage" nowadays.
SYNCED = re.compile(
    r"dropbox\b.*|onedrive\b.*|google ?drive\b.*|my drive|icloud ?drive|mobile documents"
    r"|cloudstorage|nextcloud|box sync|syncthing",
    re.IGNORECASE,
)
NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|fuse\.sshfs|fuse\.rclone|9p|afs|ceph|glusterfs")
MOUNTS = Path("/proc/self/mounts")


def store_warnings(store: Path) -> list[str]:
    """Warnings about where the store lies; none for an ordinary local folder."""
    found = []
    if synced := next((part for part in store.parts if SYNCED.fullmatch(part)), None):
        found.append(f"The store lies in '{synced}', which seems to be synced.")
    if (kind := file_system(store)) and NETWORK.fullmatch(kind):
        found.append(f"The store lies on a network file system ({kind}).")
    return [f"{what} It may be damaged there: set RAG_STORE_DIR elsewhere." for what in found]


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`, where the system tells it (Linux)."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = {Path(line.split()[1].replace("\\040", " ")): line.split()[2] for line in lines}
    return next((kinds[folder] for folder in (path, *path.parents) if folder in kinds), "")
