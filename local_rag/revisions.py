"""Which git commit a folder is at, asked of git itself. Empty where there is no git."""

from __future__ import annotations

from pathlib import Path

from local_rag.git import SECONDS, run_git


def revision(folder: Path, seconds: float = SECONDS) -> tuple[str, bool]:
    """The commit of `folder` (40 hex digits, or empty) and whether files below it differ."""
    commit = run_git(folder, "rev-parse", "--verify", "--quiet", "HEAD", seconds=seconds)
    if not commit:
        return "", False
    changes = run_git(folder, "status", "--porcelain", "--", ".", seconds=seconds)
    return commit.decode("ascii", "replace").strip(), bool(changes and changes.strip())
