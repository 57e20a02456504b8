"""Ignore files in gitignore syntax: `.ragignore` in a root, in any folder below, and for all roots.

The one for all roots lies beside the store (`~/.local-rag-mcp/.ragignore` by default, next to
the settings file), so that deleting the store does not delete it. As in git, the deepest file
that has a say wins, and nothing inside a folder that is left out can be taken back in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".ragignore"
LARGEST_IGNORE_FILE = 1_000_000  # bytes


@dataclass(frozen=True)
class IgnoreFile:
    """The patterns of one file, which hold below `prefix` (empty, or ending in `/`)."""

    prefix: str
    spec: GitIgnoreSpec
    name: str = IGNORE_FILE


@dataclass(frozen=True)
class Ignores:
    """The ignore files in force in one folder, outermost first."""

    files: tuple[IgnoreFile, ...] = ()

    def with_file(self, file: IgnoreFile) -> Ignores:
        """These and one more, which wins over them."""
        return Ignores((*self.files, file))

    def reason(self, path: str, *, is_folder: bool) -> str | None:
        """Why the file or folder at `path` is left out, or None."""
        names = dict.fromkeys(file.name for file in self.files)
        for name in names:
            if self._matches(name, path + "/" * is_folder):
                return f"left out by {name}"
        return None

    def _matches(self, name: str, path: str) -> bool:
        """The last word on `path` of the files called `name`, each kind being its own law."""
        for file in reversed(self.files):
            if file.name == name:
                verdict = file.spec.check_file(path.removeprefix(file.prefix)).include
                if verdict is not None:
                    return verdict
        return False


def parse_ignores(
    data: bytes, prefix: str, name: str = IGNORE_FILE
) -> tuple[IgnoreFile, list[int]]:
    """An ignore file's patterns, and the numbers of the lines that are no pattern."""
    from pathspec import GitIgnoreSpec  # most people have no such file

    lines = data.decode("utf-8-sig", "replace").splitlines()
    good, bad = [], []
    for number, line in enumerate(lines, 1):
        if _is_pattern(line):
            good.append(line)
        else:
            bad.append(number)
    return IgnoreFile(prefix, GitIgnoreSpec.from_lines(good), name), bad


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def ignores_beside(store: Path) -> tuple[Ignores, Sequence[int]]:
    """The ignore file for all roots and its bad lines; nothing where there is none."""
    try:
        with (store.parent / IGNORE_FILE).open("rb") as file:
            data = file.read(LARGEST_IGNORE_FILE)
    except OSError:
        return Ignores(), ()
    parsed, bad = parse_ignores(data, "")
    return Ignores((parsed,)), bad
