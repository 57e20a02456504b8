"""Failures of the disk below the store, as the one named error that they are to a person.

Leaves out failures of the corpus's disk, which are a matter of single files (`walk`, `plan`).
"""

from __future__ import annotations

import errno
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


@contextmanager
def writing(store: Path) -> Iterator[None]:
    """Turns what the system says when it cannot write to `store` into `StoreUnwritable`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            what = f"There is no room for the store {store} ({error.strerror})."
            raise StoreUnwritable(what, "Free some, then run it again.") from error
        if error.errno in REFUSED:
            raise _unwritable(store, error.strerror or "") from error
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in SQLITE:  # the upper bits are details
            raise
        raise _unwritable(store, str(error)) from error


def _unwritable(store: Path, why: str) -> StoreUnwritable:
    what = f"The store {store} cannot be written ({why})."
    return StoreUnwritable(what, "See to its disk's room and permissions, then run it again.")
