"""Every command says what it is for, and does nothing else when asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_rag.settings import PROJECT_DIR

TOOLS = sorted(path for path in (PROJECT_DIR / "tools").glob("*.py") if path.name != "__init__.py")
COMMANDS = [PROJECT_DIR / "ingest.py", *TOOLS]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda path: path.name)
def test_help_is_printed_and_nothing_is_done(command: Path, tmp_path: Path) -> None:
    if "__main__" not in command.read_text(encoding="utf-8"):
        pytest.skip("a module of other tools")
    done = subprocess.run(
        [sys.executable, str(command), "--help"],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert list(tmp_path.glob("[!h]*")) == []  # the home folder of the tests is there
