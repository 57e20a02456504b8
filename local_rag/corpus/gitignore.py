"""Ignore files in gitignore syntax: `.ragignore` in a root, in any folder below, and for all roots.

The one for all roots lies beside the store (`~/.local-rag-mcp/.ragignore` by default, next to
the settings file), so that deleting the store does not delete it. As in git, the deepest file
that has a say wins, and nothing inside a folder that is left out can be taken back in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.corpus.safe_open import read_inside
from local_rag.errors import PathRefused

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".ragignore"
LARGEST_IGNORE_FILE = 1_000_000  # bytes
LARGEST_GITIGNORE = 100_000_000  # bytes; git itself passes over larger ones
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Unusable:
    """Why a file that exists to hide documents cannot be used, and what to do about it.

    Nobody knows what it would have hidden, so everything that it may speak of is hidden.
    """

    why: str
    remedy: str


@dataclass(frozen=True)
class IgnoreFile:
    """The patterns of one file, which hold below `prefix` (empty, or ending in `/`)."""

    prefix: str
    spec: GitIgnoreSpec
    name: str = IGNORE_FILE


@dataclass(frozen=True)
class Ignores:
    """The ignore files in force in one folder, outermost first.

    `unusable` is the one for all roots where it exists and cannot be used.
    """

    files: tuple[IgnoreFile, ...] = ()
    unusable: Unusable | None = None

    def with_file(self, file: IgnoreFile) -> Ignores:
        """These and one more, which wins over them."""
        return replace(self, files=(*self.files, file))

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


def read_hiding_file(
    location: Path, *, strict: bool = True, follow: bool = False
) -> bytes | Unusable | None:
    """The bytes of an ignore file; None where there is none.

    With `follow` it may be a link; unless `strict` it may hold names in any 8-bit encoding, as
    git compares bytes.
    """
    place = Path(os.path.realpath(location)) if follow else location
    largest = LARGEST_IGNORE_FILE if strict else LARGEST_GITIGNORE
    try:
        kind = _kind(os.lstat(place).st_mode)
        if kind:
            return Unusable(f"is {kind}", "Replace it with a plain text file, or remove it.")
        data = read_inside(Path(os.path.realpath(place.parent)), place, largest).data
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (PathRefused, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else "changed while it was read"
        return Unusable(f"is {why}", "Shorten it, or remove it.")
    except OSError as error:
        return Unusable(f"cannot be read ({error.strerror})", "Allow reading it, or remove it.")
    if _is_text(data, strict=strict):
        return data
    return Unusable("is not UTF-8", "Save it as UTF-8.")


def _kind(mode: int) -> str:
    """What stands in the place of a file, or nothing if it is one."""
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "" if stat.S_ISREG(mode) else "not a regular file"


def _is_text(data: bytes, *, strict: bool) -> bool:
    if data.startswith(UTF16_MARKS) or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return not strict
    return True


def ignores_beside(store: Path) -> tuple[Ignores, Sequence[int]]:
    """The ignore file for all roots and its bad lines; nothing where there is none.

    Where it cannot be used it hides everything.
    """
    data = read_hiding_file(store.parent / IGNORE_FILE, follow=True)
    if data is None:
        return Ignores(), ()
    if isinstance(data, Unusable):
        return Ignores(unusable=data), ()
    parsed, bad = parse_ignores(data, "")
    return Ignores((parsed,)), bad
