"""Standard output and error of a command: one that is closed or full is told, and is no traceback.

Leaves out the server's pipes (`wire`).
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from local_rag.errors import OutputLost


class _Unfailing(io.FileIO):
    """A file whose failures to be written are nobody's concern: there is nowhere to tell them."""

    def write(self, data: Any, /) -> int:
        """Writes, or loses what cannot be written."""
        try:
            return super().write(data)
        except OSError:
            return len(memoryview(data))


def prepare_streams() -> None:
    """Readies the process's streams; to be called once, before anything is opened or printed.

    Documents hold more than a console's code page. A run must not fail because the disk that its
    progress is logged to is full. A descriptor that was closed must not become a file of the
    store, where a library's complaint on standard error would be written into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    if sys.stderr is None or (isinstance(sys.stderr, io.TextIOWrapper) and not sys.stderr.isatty()):
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Unfailing(2, "wb", closefd=False)),
            encoding=sys.stderr.encoding if sys.stderr else "utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )


def say(text: str) -> None:
    """Prints a line, all of it.

    Raises:
        OutputLost: standard output is closed or full. Nothing more is written to it.
    """
    try:
        if sys.stdout is None:  # it was closed before Python started
            raise OSError("it is closed")
        print(text, flush=True)
    except (OSError, ValueError) as error:  # ValueError: closed by this program
        _write_no_more()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        what = f"The answer could not be written to standard output: {why}."
        raise OutputLost(what, "Write it elsewhere.") from None


def _write_no_more() -> None:
    """Lets what is buffered go nowhere, or Python would try again at the end and fail again."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
