"""A page of `resources/list`, made without the SDK: clients wait for it before they show any tool.

A resource is one catalog entry; its URI is `corpus://root/path`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from local_rag.errors import BadArgument, IndexUnreadable, RagError
from local_rag.index.catalog import Catalog, FileRecord
from local_rag.index.checksums import check_catalog
from local_rag.index.snapshots import Store
from local_rag.server.front import Learned
from local_rag.settings import load_settings
from local_rag.text.sanitize import one_line
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer import display_title
from local_rag.tools.answer_size import ERROR_BYTES, LARGEST_ANSWER_BYTES

URI_SCHEME = "corpus://"
PAGE_RESOURCES = 50  # resources in one answer, of LARGEST_ANSWER_BYTES
NAME_BYTES = 1_000  # bytes of a resource's name, which is for people; its URI is whole
FRAME_BYTES = 250  # bytes of a list, or of a resource's place and banner, beside what is in it


@dataclass(frozen=True)
class ResourcePage:
    """Resources as the protocol spells their fields, and the cursor of the next page."""

    resources: tuple[dict[str, Any], ...]
    next_cursor: str | None


def uri_of(root: str, path: str) -> str:
    """The URI of a document; everything but letters, digits and `/` is percent-encoded."""
    return f"{URI_SCHEME}{quote(root, safe='')}/{quote(path, errors='replace')}"


def resource_page(indexed: Iterable[FileRecord], cursor: str | None) -> ResourcePage:
    """A page of all documents that are in force.

    Raises:
        BadArgument: the cursor belongs to no document of this list.
    """
    files = [file for file in indexed if file.lifecycle != "superseded"]
    first = 0
    if cursor:
        places = [place for place, file in enumerate(files) if str(file.number) == cursor]
        if not places:
            raise BadArgument("The cursor is not one of this list.", "Start again without it.")
        first = places[0] + 1
    page: list[dict[str, Any]] = []
    room = LARGEST_ANSWER_BYTES - FRAME_BYTES
    for file in files[first : first + PAGE_RESOURCES]:
        added = _resource(file)
        room -= json_size(added) + 2
        if room < 0 and page:
            break
        page.append(added)
    last = first + len(page)
    more = last < len(files)
    return ResourcePage(tuple(page), str(files[last - 1].number) if more else None)


def page_of_store(cursor: str | None) -> ResourcePage:
    """A page of the live snapshot, opened for it alone and without its vectors.

    Raises:
        SettingsError, NoIndexYet, IndexUnreadable, IndexTooNew, BadArgument: there is none.
    """
    folder = load_settings().store_dir
    return resource_page(_files_of(folder, Store(folder).current_name()), cursor)


@lru_cache(maxsize=1)  # clients ask for one page after the other
def _files_of(folder: Path, name: str) -> tuple[FileRecord, ...]:
    snapshot = Store(folder).open(name)
    check_catalog(snapshot.path, snapshot.manifest.checksums)
    with closing(Catalog.open(snapshot.catalog)) as catalog:
        return tuple(catalog.files())


def early_page(cursor: str | None) -> Learned | None:
    """The same for the front; None for what takes a closer look at the store."""
    try:
        page = page_of_store(cursor)
    except IndexUnreadable:  # an older snapshot may be whole
        return None
    except RagError as error:
        return Learned((), None, error_line(error))
    return Learned(page.resources, page.next_cursor)


def error_line(error: RagError) -> str:
    """A failure as the protocol's errors show it."""
    return shorten(one_line(str(error)), ERROR_BYTES)


def _resource(file: FileRecord) -> dict[str, Any]:
    return {
        "uri": uri_of(file.root, file.path),
        "name": shorten(one_line(f"{file.root}:{file.path}"), NAME_BYTES),
        "title": display_title(file),
        "mimeType": "text/plain",
        "size": file.size,
    }
