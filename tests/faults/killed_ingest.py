"""Runs `ingest.py` and kills itself, as the kernel would, at the n-th log record of a step.

    python -m tests.faults.killed_ingest STEP N [ARGUMENTS OF INGEST...]

Every step that matters is a line of the log, so the product needs no switch for this.
"""

from __future__ import annotations

import logging
import os
import signal
import sys

from local_rag.commands import ingest


class KillAt(logging.Handler):
    """Kills this process at the n-th record with this message."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__()
        self._message, self._left = message, number

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == self._message:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    log = logging.getLogger("local_rag")
    log.setLevel(logging.DEBUG)
    log.addHandler(KillAt(sys.argv[1], int(sys.argv[2])))
    sys.exit(ingest(sys.argv[3:]))
