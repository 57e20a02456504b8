"""Which git commit a folder is at, asked of git itself. Empty where there is no git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SECONDS = 30.0
# A corpus is data: no hook or monitor that its configuration names may run.
SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


def revision(folder: Path) -> tuple[str, bool]:
    """The commit of `folder` (40 hex digits, or empty) and whether files below it differ."""
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD").strip()
    if not commit:
        return "", False
    return commit, bool(_git(folder, "status", "--porcelain", "--", ".").strip())


def _git(folder: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *SAFE, "-C", str(folder), *arguments],
            env=environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no git, or a repository that hangs
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
