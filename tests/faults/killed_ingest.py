"""Runs an ingest that is killed, as the kernel would, at the n-th log record of a step.

Every step that matters is a line of the log, so the product needs no switch for this.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Sequence

from local_rag.cli.ingest import main


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


def killed_ingest(step: str, number: int, arguments: Sequence[str] = ()) -> int:
    """Runs `ingest` until it is killed; its exit code, if it got through without that step."""
    log = logging.getLogger("local_rag")
    log.setLevel(logging.DEBUG)
    log.addHandler(KillAt(step, number))
    return main(arguments)
