"""A page of `resources/list`, made without the SDK: clients wait for it before they show any tool.

A resource is one catalog entry; its URI is `corpus://root/path`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from local_rag.defaults import DEFAULT_CONFIG, DEFAULT_STORE, EmbedderName
from local_rag.errors import BadArgument, IndexUnreadable, RagError
from local_rag.index.catalog import Catalog, FileRecord
from local_rag.index.checksums import check_catalog
from local_rag.index.snapshots import Store
from local_rag.server.front import Learned
from local_rag.text.sanitize import one_line
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer_size import ERROR_BYTES, LARGEST_ANSWER_BYTES, display_title

URI_SCHEME = "corpus://"
PAGE_RESOURCES = 50  # resources in one answer, of LARGEST_ANSWER_BYTES
NAME_BYTES = 1_000  # bytes of a resource's name, which is for people; its URI is whole
FREE = {"corpus_dir", "store_dir", "model", "ollama_host"}  # settings of any value
EITHER = {"embedder": get_args(EmbedderName)}  # settings of one of these values
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


def page_of_store(store: Store, cursor: str | None) -> ResourcePage:
    """A page of the live snapshot, opened for it alone: nothing waits for vectors here.

    Raises:
        NoIndexYet, IndexUnreadable, IndexTooNew, BadArgument: there is none.
    """
    return resource_page(_files_of(store.path, store.current_name()), cursor)


@lru_cache(maxsize=1)  # clients ask for one page after the other
def _files_of(folder: Path, name: str) -> tuple[FileRecord, ...]:
    snapshot = Store(folder).open(name)
    check_catalog(snapshot.path, snapshot.manifest.checksums)
    with closing(Catalog.open(snapshot.catalog)) as catalog:
        return tuple(catalog.files())


class EarlyList:
    """The list as the front answers it; its own imports are done when it is made."""

    def __init__(self) -> None:
        self._plain = plain_store_folder()
        if self._plain is None:
            import local_rag.settings  # noqa: F401 - with pydantic, so a while

    def __call__(self, cursor: str | None) -> Learned | None:
        """A page; None where it takes a closer look at the store."""
        folder = self._plain
        try:
            if folder is None:
                from local_rag.settings import load_settings

                folder = load_settings().store_dir
            page = page_of_store(Store(folder), cursor)
        except IndexUnreadable:  # an older snapshot may be whole
            return None
        except RagError as error:
            return Learned((), None, error_line(error))
        return Learned(page.resources, page.next_cursor)


def plain_store_folder() -> Path | None:
    """The store's folder, where no setting needs a check that takes long; else None."""
    given = {n[4:].lower(): v for n, v in os.environ.items() if n.startswith("RAG_")}
    config = Path(given.pop("config", "") or DEFAULT_CONFIG).expanduser()
    try:
        settings: dict[str, Any] = {}
        if config.exists():
            import tomllib

            settings = tomllib.loads(config.read_text(encoding="utf-8-sig"))
        settings |= given
    except (OSError, ValueError):
        return None
    if settings.keys() - FREE - EITHER.keys() or (
        "RAG_CONFIG" in os.environ and not config.exists()
    ):
        return None
    if any(settings.get(name, known[0]) not in known for name, known in EITHER.items()):
        return None
    named = settings.get("store_dir", DEFAULT_STORE)
    folder = Path(named if isinstance(named, str) else "").expanduser()
    return folder if folder.is_absolute() else None


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
