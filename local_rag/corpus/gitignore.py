"""`.ragignore` files, in gitignore syntax: in a root, in any folder below it, and for all roots.

The one for all roots lies beside the store (`~/.local-rag-mcp/.ragignore` by default, next to
the settings file), so that deleting the store does not delete it. As in git, the deepest file
with a matching pattern wins, and nothing inside an ignored folder can be included again. A file
that exists and cannot be used hides its whole folder.
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
# google-re2, where pathspec finds it, fails to compile a set of 1,500 patterns or more.
LINES_AT_ONCE = 250
LARGEST_IGNORE_FILE = 1_000_000  # bytes
LARGEST_GITIGNORE = 100_000_000  # bytes; git itself passes over larger ones
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Unusable:
    """Why an ignore file that exists cannot be used, and what to do about it."""

    why: str
    remedy: str


@dataclass(frozen=True)
class IgnoreFile:
    """The patterns of one file, which apply below `prefix` (empty, or ending in `/`)."""

    prefix: str
    specs: tuple[GitIgnoreSpec, ...]

    def verdict(self, path: str) -> bool | None:
        """Whether the last pattern that matches leaves `path` out; None if none matches."""
        for spec in reversed(self.specs):
            verdict = spec.check_file(path.removeprefix(self.prefix)).include
            if verdict is not None:
                return verdict
        return None


@dataclass(frozen=True)
class Ignores:
    """The ignore files that apply in one folder, outermost first.

    `unusable` is set if the one for all roots exists and cannot be used.
    """

    files: tuple[IgnoreFile, ...] = ()
    unusable: Unusable | None = None

    def with_file(self, file: IgnoreFile) -> Ignores:
        """These and one more, which wins over them."""
        return replace(self, files=(*self.files, file))

    def reason(self, path: str, *, is_folder: bool) -> str | None:
        """Why the file or folder at `path` is left out, or None."""
        path += "/" * is_folder
        for file in reversed(self.files):
            verdict = file.verdict(path)
            if verdict is not None:
                return f"left out by {IGNORE_FILE}" if verdict else None
        return None


def parse_ignores(data: bytes, prefix: str) -> tuple[IgnoreFile, list[int]]:
    """An ignore file's patterns, and the numbers of its lines that are not valid patterns."""
    from pathspec import GitIgnoreSpec  # most people have no such file

    lines = data.decode("utf-8-sig", "replace").splitlines()
    good, bad = [], []
    for number, line in enumerate(lines, 1):
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            bad.append(number)
        else:
            good.append(line)
    parts = (good[at : at + LINES_AT_ONCE] for at in range(0, len(good), LINES_AT_ONCE))
    specs = (GitIgnoreSpec.from_lines(part) for part in parts)
    return IgnoreFile(prefix, tuple(specs)), bad


def read_hiding_file(
    location: Path, *, strict: bool = True, follow: bool = False
) -> bytes | Unusable | None:
    """The bytes of an ignore file, or None if there is none.

    With `follow` it may be a link. Unless `strict` it may be in any 8-bit encoding, as git
    compares bytes.
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
    """The ignore file for all roots and the numbers of its invalid lines."""
    data = read_hiding_file(store.parent / IGNORE_FILE, follow=True)
    if data is None:
        return Ignores(), ()
    if isinstance(data, Unusable):
        return Ignores(unusable=data), ()
    parsed, bad = parse_ignores(data, "")
    return Ignores((parsed,)), bad
