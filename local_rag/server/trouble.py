"""Why the server cannot run at all, and what mends it, in one line.

Runs on old interpreters, as the front does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
OLDEST = (3, 11)
LONGEST_REASON = 300  # characters


class PythonTooOld(Exception):
    """This interpreter cannot run the server."""


def check_python() -> None:
    """Raises PythonTooOld if the server needs a newer interpreter."""
    if sys.version_info < OLDEST:
        raise PythonTooOld


def trouble_of(error: Exception) -> str:
    """The one line for what was raised while the server was being loaded."""
    python = sys.executable
    install = f'"{python}" -m pip install -r "{PROJECT / "requirements.txt"}"'
    if isinstance(error, PythonTooOld):
        needed, has = ".".join(map(str, OLDEST)), ".".join(map(str, sys.version_info[:3]))
        return f"The server needs Python {needed} or newer; {python} is {has}. {_register()}"
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ImportError) and package and package != "local_rag":
        if _own_python().is_file() and Path(python).parent != _own_python().parent:
            return f"The package {package} is not installed for {python}. {_register()}"
        return f"The package {package} is not installed for {python}. Run: {install}"
    said = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON]
    return f"The server could not be loaded ({said}). Install its packages again: {install}"


def _own_python() -> Path:
    """The interpreter that `make install` makes."""
    return PROJECT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _register() -> str:
    made = "" if _own_python().is_file() else f"Run `make install` in {PROJECT}, then r"
    return f"{made or 'R'}egister {_own_python()} as the server's command, and restart the client."
