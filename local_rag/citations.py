"""Whether the lines that the index cites are in the files on disk, word for word.

Only files that are still what was indexed, by their hash, can tell, and only those whose bytes are
their text: what a converter made of the others has no lines on disk. Changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from local_rag.catalog import Catalog, FileRecord
from local_rag.decoding import NotText, decode
from local_rag.errors import PathRefused
from local_rag.formats import TEXT, format_of
from local_rag.manifest import RootState
from local_rag.opening import read_inside


class Citations:
    """Compares files one by one; `compared` counts those that could tell."""

    def __init__(self, catalog: Catalog, roots: tuple[RootState, ...]) -> None:
        self.compared = 0
        self._catalog = catalog
        self._roots = {root.name: Path(root.path) for root in roots}

    def wrong(self, file: FileRecord) -> Iterator[str]:
        """What the index says of a file that isn't in it, a line each."""
        data = self._as_indexed(file)
        if data is None:
            return
        self.compared += 1
        name = f"{file.root}:{file.path}"
        try:
            lines = decode(data)[0].split("\n")
        except NotText:
            yield f"{name}: the file is no text"
            return
        if self._catalog.text(file.number).split("\n") != lines:
            yield f"{name}: the indexed text is not the file's"
        for chunk in self._catalog.chunks_of(file.number):
            cited = "\n".join(lines[chunk.first_line - 1 : chunk.last_line])
            if chunk.text not in cited:
                where = f"lines {chunk.first_line}-{chunk.last_line} of the file"
                yield f"{name}: chunk {chunk.id} is not in {where}"

    def _as_indexed(self, file: FileRecord) -> bytes | None:
        """The file's bytes, if they are its text and are what was indexed."""
        root = self._roots.get(file.root)
        if root is None or (format_of(file.path) or TEXT).module:
            return None
        try:
            data = read_inside(root, Path(file.location), file.size).data
        except (OSError, ValueError, PathRefused):  # it has changed, so it is another document
            return None
        return data if hashlib.sha256(data).hexdigest() == file.sha256 else None
