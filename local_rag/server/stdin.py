r"""The server's standard input, with what would make the SDK drop a request repaired.

A lone surrogate escape (`"\ud800"`, which JavaScript clients can send) is not Unicode:
the SDK's parser refuses the whole line and the client waits forever. It becomes U+FFFD here.
"""

from __future__ import annotations

import io
import os
import re

# An escaped surrogate pair, or half of one alone. A backslash that is itself escaped is skipped.
SURROGATE = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def repaired(line: str) -> str:
    """`line` of JSON with every lone surrogate escape replaced."""
    return SURROGATE.sub(lambda match: r"\ufffd" if match[1] else match[0], line)


class WireInput(io.TextIOWrapper):
    """Lines of JSON-RPC, each repaired as it is read."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override] # typeshed's `__size`
        """The next line; empty at the end."""
        return repaired(super().readline(size))


def take_stdin() -> WireInput:
    """Moves standard input to a descriptor of its own; children and handlers read nothing."""
    private, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return WireInput(os.fdopen(private, "rb"), encoding="utf-8", errors="replace")
