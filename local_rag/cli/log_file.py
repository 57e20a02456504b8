"""The log of ingest, a rotated file in the store: what each run did, when, and why it failed.

It contains nothing of the documents' content. Records name snapshots and counts; of an unexpected
error they keep the type and the place, but not the message, which may quote a document.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from local_rag.errors import RagError
from local_rag.ingest.snapshot_writer import make_folder

LOG_FILE = "ingest.log"
LOG_BYTES = 500_000  # rotated at this size
OLDER_LOGS = 3
LINE_FORMAT = "%(asctime)s %(process)d %(levelname)s %(message)s"
ErrorInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class _Formatter(logging.Formatter):
    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - logging's name
        name = ei[0].__name__ if ei[0] else "?"
        return "".join([*traceback.format_tb(ei[2]), name])


class _File(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Ignores a failed write, such as on a full disk: it must not hide the run's messages."""


@contextmanager
def log_to_store(store: Path) -> Iterator[None]:
    """Writes our own records, from INFO up, to the store's log while the block runs."""
    log = logging.getLogger("local_rag")
    level = log.level
    with suppress(OSError):  # taking the lock reports what is wrong with the folder
        make_folder(store)
    file = _File(
        store / LOG_FILE, maxBytes=LOG_BYTES, backupCount=OLDER_LOGS, encoding="utf-8", delay=True
    )
    file.setFormatter(_Formatter(LINE_FORMAT))
    file.setLevel(logging.INFO)
    if not log.isEnabledFor(logging.INFO):
        log.setLevel(logging.INFO)
    log.addHandler(file)
    try:
        yield
    except RagError as error:
        log.info("nothing done: %s", error)
        raise
    except Exception:
        log.exception("failed")
        raise
    finally:
        log.removeHandler(file)
        log.setLevel(level)
        with suppress(OSError):  # a full disk again: buffered records are lost
            file.close()
