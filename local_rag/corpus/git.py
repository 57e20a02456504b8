"""Asks git, as safely as a stranger's repository needs. Never writes to a repository.

A repository's own configuration names commands: filters that `git status` runs for every file, a
file system monitor, helpers for reaching a missing object. So git is never asked to convert or
to compare a file's content, and every way to another process or host is shut.
"""

from __future__ import annotations

import os
import platform
import subprocess
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from local_rag.corpus.gitignore import Unusable, read_hiding_file
from local_rag.text.sanitize import one_line

GIT_SECONDS = 60.0
LONGEST_REASON = 200
# An empty core.fsmonitor is off for every version of git: "false" was once taken for a command.
SAFE = (
    "--no-pager", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}",
    "-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit",
)  # fmt: skip
ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # beats protocol.ext.allow=always in the repository
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
GITIGNORE = ".gitignore"


@dataclass(frozen=True)
class GitFailure:
    """Why git could not say anything, and what to do about it."""

    why: str
    remedy: str


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


def repository_top(folder: Path) -> Path | None:
    """The folder with the nearest `.git`, from `folder` upwards, found without git."""
    return next((f for f in (folder, *folder.parents) if os.path.lexists(f / ".git")), None)


def run_git(
    folder: Path, *arguments: str, seconds: float = GIT_SECONDS, data: bytes | None = None
) -> bytes | GitFailure:
    """What git prints when run in `folder`, which lies in a repository, with `data` as its input.

    Only for commands that neither convert nor compare the content of files.
    """
    late = GitFailure(f"git took longer than {max(seconds, 0):.0f} s", "Run ingest.py again.")
    if seconds <= 0:
        return late
    try:
        done = subprocess.run(
            [_git(), *SAFE, "-C", str(folder), *arguments],
            env=_environment(folder),
            input=b"" if data is None else data,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return late
    except OSError as error:
        why = f"git cannot be started ({error.strerror or error})"
        return GitFailure(why, "Install git, and see that PATH names its folder.")
    return done.stdout if done.returncode == 0 else _failed(folder, done.stderr)


def _git() -> str:
    """Git by its full path: a `git` in the working folder is a stranger's.

    Windows looks there first, and so does an empty or relative entry of PATH elsewhere.
    """
    name = "git.exe" if os.name == "nt" else "git"
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        place = os.path.join(entry, name)  # noqa: PTH118 - for every call
        if os.path.isabs(entry) and os.path.isfile(place) and os.access(place, os.X_OK):  # noqa: PTH113, PTH117
            return place
    raise FileNotFoundError(None, "not found on PATH")


def _environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    kept.setdefault("HOME", str(Path("~").expanduser()))  # services have none: no global ignores
    if top := repository_top(folder):
        # A damaged repository must not be taken for a plain folder of one that lies around it.
        kept["GIT_CEILING_DIRECTORIES"] = str(top.parent)
    return kept | ENVIRONMENT


def _failed(folder: Path, stderr: bytes) -> GitFailure:
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    why = one_line(f"git fails ({lines[0]}")[:LONGEST_REASON] + ")"
    top = repository_top(folder) or folder
    if _is_foreign(top):
        command = f"git config --global --add safe.directory '{top}'"
        return GitFailure(why, f"If you trust the repository, run: {command}")
    return GitFailure(why, f"Repair the repository {top}, or leave it out with a .ragignore.")


def _is_foreign(top: Path) -> bool:
    """Whether another user owns the repository, which git then refuses to open."""
    try:
        owners = {top.lstat().st_uid, (top / ".git").lstat().st_uid}
    except OSError:
        return False
    return os.name != "nt" and owners != {os.geteuid()}


def list_repository(
    folder: Path, prefix: str, seconds: float = GIT_SECONDS
) -> GitListing | GitFailure | None:
    """What git tracks or would add below `folder`, whose path from the root is `prefix`.

    None where git has no say: outside a repository, or in a folder that the repository around it
    ignores altogether, as a home folder kept in git ignores the notes in it.
    """
    top = repository_top(folder)
    if top is None:
        return None
    if failure := _unusable_rules(folder, top, seconds):
        return failure
    out = run_git(
        folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z", seconds=seconds
    )
    if isinstance(out, GitFailure):
        return out
    if not out and top != folder:
        return None
    return GitListing(os.fsdecode(out).rstrip("\0").split("\0") if out else (), prefix)


def _unusable_rules(folder: Path, top: Path, seconds: float) -> GitFailure | None:
    """Why rules that hold in `folder` and are kept elsewhere cannot be used; None if they can.

    Git itself warns of a file that it cannot read, and lists what the file would have hidden.
    """
    own = run_git(folder, "rev-parse", "--git-path", "info/exclude", seconds=seconds)
    named = run_git(
        folder, "config", "--type=path", "--default=", "--get", "core.excludesFile", seconds=seconds
    )
    for answer in (own, named):
        if isinstance(answer, GitFailure):
            return answer
    assert isinstance(own, bytes) and isinstance(named, bytes)
    everywhere = os.fsdecode(named).removesuffix("\n")
    shared = top / everywhere if everywhere else _usual_excludes()
    places = [folder / os.fsdecode(own).removesuffix("\n"), shared]
    above = [p / GITIGNORE for p in folder.parents if p == top or p.is_relative_to(top)]
    read = [(place, read_hiding_file(place, strict=False, follow=True)) for place in places]
    read += [(place, read_hiding_file(place, strict=False)) for place in above if top != folder]
    for place, data in read:
        if isinstance(data, Unusable):
            return GitFailure(f"{place} {data.why}", data.remedy)
    return None


def _usual_excludes() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path("~").expanduser() / ".config")
    return Path(base) / "git" / "ignore"
