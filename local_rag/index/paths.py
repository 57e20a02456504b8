"""Paths and globs as people write them, read as root and path of a document. Pure.

Nothing is resolved on disk: a path only selects among the catalog's names, so `..` leads nowhere.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from local_rag.index.manifest import RootState

DRIVE = re.compile(r"[A-Za-z]:/")


@dataclass(frozen=True)
class ParsedPath:
    """A path or glob below a root, or below any root if `root` is None."""

    root: str | None
    path: str


def parse_path(written: str, roots: Iterable[RootState]) -> ParsedPath:
    r"""Reads `./a.md`, `a\b.md`, `root:a.md` or an absolute path below a root."""
    text = unicodedata.normalize("NFC", written).replace("\\", "/")
    for root in roots:
        below = _below(unicodedata.normalize("NFC", root.path).replace("\\", "/"), text)
        if below is None and text.startswith(f"{root.name}:"):
            below = text[len(root.name) + 1 :]
        if below is not None:
            return ParsedPath(root.name, _plain(below))
    return ParsedPath(None, _plain(text))


def _below(folder: str, text: str) -> str | None:
    """The rest of a text after `folder`, if it begins with that."""
    folder = folder.rstrip("/")
    if DRIVE.match(folder):  # Windows does not distinguish case
        begins = text.casefold().startswith(folder.casefold())
    else:
        begins = text.startswith(folder)
    rest = text[len(folder) :]
    return rest.lstrip("/") if begins and rest[:1] in ("", "/") else None


def _plain(path: str) -> str:
    plain = re.sub(r"/(?:\.?/)+", "/", re.sub(r"^(?:\./+)+", "", path))
    return "" if plain == "." else plain


class Glob:
    """Matches documents by a glob, as written or as meant.

    `*` also matches slashes; `**/` also matches nothing. A glob without a slash matches file names.
    One that matches a folder matches everything in it.
    """

    def __init__(self, written: str, roots: Iterable[RootState]) -> None:
        plain = parse_path(written, roots)
        as_written = ParsedPath(None, unicodedata.normalize("NFC", written))
        self._readings = []
        for one in dict.fromkeys((as_written, plain)):
            glob = one.path
            patterns = dict.fromkeys((glob, glob.removeprefix("**/"), glob.replace("**/", "")))
            self._readings.append((one.root, list(patterns)))

    def matches(self, root: str, path: str) -> bool:
        """Whether a document matches."""
        return any(
            wanted in (None, root) and any(_matches(path, pattern) for pattern in patterns)
            for wanted, patterns in self._readings
        )


def _matches(path: str, glob: str) -> bool:
    folder = glob.rstrip("/")
    if not folder or path == glob or path.startswith(f"{folder}/"):
        return True
    if fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(path, f"{folder}/*"):
        return True
    return "/" not in glob and fnmatch.fnmatchcase(path.rpartition("/")[2], glob)
