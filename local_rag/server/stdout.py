"""The server's standard output: whole lines of JSON-RPC, and nothing else.

Runs on old interpreters, as the front does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

UNHEARD = "error: Standard output is closed or full: no answer reaches the client, so this ends.\n"


class WireOutput:
    """Writes lines to the client. Ends the process where nobody can hear them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, line: str) -> None:
        """Sends a line at once."""
        try:
            self._file.write(line.encode("utf-8"))
            self._file.flush()
        except OSError:
            # No exception would do: another thread waits for stdin, and nothing ends it.
            with suppress(OSError):
                os.write(2, UNHEARD.encode())
            os._exit(1)


def take_stdout() -> WireOutput:
    """Moves standard output to a descriptor of its own; what others print goes to stderr."""
    private = os.dup(1)
    try:
        elsewhere = os.dup(2)
    except OSError:
        elsewhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(elsewhere, 1)
    os.close(elsewhere)
    return WireOutput(os.fdopen(private, "wb"))
