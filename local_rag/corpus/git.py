"""Asks git, as safely as a stranger's repository needs. Never writes to a repository."""

from __future__ import annotations

import os
import platform
import subprocess
import unicodedata
from collections.abc import Iterable
from pathlib import Path

GIT_SECONDS = 60.0
# A corpus is data: no hook or monitor that its configuration names may run.
SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


def run_git(folder: Path, *arguments: str, seconds: float = GIT_SECONDS) -> bytes | None:
    """What git prints when run in `folder`; None without git, or where it fails or hangs."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *SAFE, "-C", str(folder), *arguments],
            env=environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def is_in_repository(folder: Path) -> bool:
    """Whether `folder` looks like part of a repository, asked without git."""
    return any((parent / ".git").exists() for parent in (folder, *folder.parents))


class GitListing:
    """What git lists in one repository, by path from the root.

    A repository inside is one entry, with `/` at its end unless it is a submodule.
    """

    def __init__(self, names: Iterable[str], prefix: str) -> None:
        # Git on macOS tells NFC names of files whose names are NFD on disk.
        self._nfc = platform.system() == "Darwin"
        self._files = {prefix + name for name in names} if prefix else set(names)
        if self._nfc:
            self._files = {self._key(file) for file in self._files}
        self._folders: set[str] = set()
        for file in self._files:
            at = file.rstrip("/").rfind("/")
            while at > 0 and (folder := file[: at + 1]) not in self._folders:
                self._folders.add(folder)
                at = file.rfind("/", 0, at)

    def _key(self, path: str) -> str:
        return unicodedata.normalize("NFC", path) if self._nfc else path

    def has_file(self, path: str) -> bool:
        """Whether it lists this very file."""
        return self._key(path) in self._files

    def has_below(self, folder: str) -> bool:
        """Whether it lists something in `folder` (ending in `/`), or the folder as a repository."""
        key = self._key(folder)
        return key in self._folders or key in self._files or key[:-1] in self._files


def list_repository(folder: Path, prefix: str) -> GitListing | None:
    """What git tracks or would add below `folder`, whose path from the root is `prefix`.

    None where git has no say: outside a repository, without git, or in a folder that the
    repository around it ignores altogether, as a home folder kept in git ignores the notes in it.
    """
    out = run_git(folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if out is None or (not out and not (folder / ".git").exists()):
        return None
    return GitListing(os.fsdecode(out).rstrip("\0").split("\0") if out else (), prefix)


def git_revision(
    folder: Path, seconds: float = GIT_SECONDS, known: tuple[str, bool] = ("", False)
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
