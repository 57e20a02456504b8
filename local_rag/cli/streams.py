"""Standard output and error of a command; one that is closed or full is an error of one line.

The server's own pipes are in `server/stdin.py` and `server/stdout.py`.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from local_rag.errors import OutputLost


class _Unfailing(io.FileIO):
    """A file that ignores failed writes, because there is nowhere left to report them."""

    def write(self, data: Any, /) -> int:
        """Writes the data, or drops it if that fails."""
        try:
            return super().write(data)
        except OSError:
            return len(memoryview(data))


def prepare_streams() -> None:
    """Prepares the process's streams. Call it once, before anything is opened or printed.

    Documents contain characters that a console's code page lacks. A run must not fail because the
    disk with the log of its progress is full. A closed descriptor must not be reused for a file of
    the store: what a library prints to standard error would be written into that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
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
    """Prints a line to standard output.

    Raises:
        OutputLost: standard output is closed or full. Nothing further is written to it.
    """
    try:
        if sys.stdout is None:  # it was closed before Python started
            raise OSError("it is closed")
        print(text, flush=True)
    except (OSError, ValueError) as error:  # ValueError: closed by this program
        # Else Python would write what is buffered once more at exit, and fail.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        what = f"Could not write to standard output ({why})."
        raise OutputLost(what, "Redirect it somewhere with space.") from None
