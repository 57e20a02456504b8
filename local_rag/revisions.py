"""Which git commit a folder is at, asked of git itself. Empty where there is no git."""

from __future__ import annotations

from pathlib import Path

from local_rag.git import SECONDS, run_git


def revision(
    folder: Path, seconds: float = SECONDS, known: tuple[str, bool] = ("", False)
) -> tuple[str, bool]:
    """The commit of `folder` (40 hex digits, or empty) and whether files below it differ.

    At the commit of `known` that is the answer: git need not look at every file.
    """
    commit = run_git(folder, "rev-parse", "--verify", "--quiet", "HEAD", seconds=seconds)
    if not commit:
        return "", False
    if commit.decode("ascii", "replace").strip() == known[0]:
        return known
    changes = run_git(folder, "status", "--porcelain", "--", ".", seconds=seconds)
    return commit.decode("ascii", "replace").strip(), bool(changes and changes.strip())
