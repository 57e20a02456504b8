"""Indexed documents as MCP resources `corpus://root/path`, and the completion of their names.

A resource is one catalog entry, by exactly its root and path; no spelling leads anywhere else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote

import mcp_types as types

from local_rag.errors import DocumentNotFound, IndexUnreadable
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import LiveIndex, OpenIndex
from local_rag.reading.find import DocumentName, display_name
from local_rag.reading.freshness import state_of
from local_rag.reading.paging import place_of
from local_rag.server.resource_list import (
    FRAME_BYTES,
    URI_SCHEME,
    page_of_store,
    resource_page,
    uri_of,
)
from local_rag.text.sanitize import one_line, safe_text
from local_rag.text.trim import fit_prefix, json_size, shorten
from local_rag.tools.answer_size import ANSWER_BYTES, TITLE_BYTES
from local_rag.tools.get_file import banner, call_from

TEMPLATE = "corpus://{root}/{+path}"
RESOURCE_BYTES = 100_000  # bytes of one resource, which a person picks to have it whole
MOST_COMPLETIONS = 50  # names offered for what was typed, in ANSWER bytes


def document_of_uri(index: OpenIndex, uri: str) -> FileRecord:
    """The document of a URI.

    Raises:
        DocumentNotFound: it names none.
    """
    root, slash, path = uri.removeprefix(URI_SCHEME).partition("/")
    if uri.startswith(URI_SCHEME) and slash:
        raw = unquote(path)
        for spelling in (raw, unicodedata.normalize("NFC", raw)):
            if file := index.catalog.file(unquote(root), spelling):
                return file
    what = f"No indexed document has the URI '{shorten(one_line(uri), TITLE_BYTES)}'."
    raise DocumentNotFound(what, "Take one of resources/list, or use get_file.")


def list_resources(live: LiveIndex, cursor: str | None) -> types.ListResourcesResult:
    """A page of all documents that are in force.

    Raises:
        BadArgument: the cursor belongs to no document of this list.
    """
    try:
        page = page_of_store(live.store, cursor)
    except IndexUnreadable:
        with live.use() as index:  # perhaps an older snapshot
            page = resource_page(index.catalog.files(), cursor)
    resources = [types.Resource.model_validate(fields) for fields in page.resources]
    return types.ListResourcesResult(resources=resources, next_cursor=page.next_cursor)


def list_templates() -> types.ListResourceTemplatesResult:
    """The one template that all documents match."""
    template = types.ResourceTemplate(
        name="document",
        title="An indexed document",
        uri_template=TEMPLATE,
        description="A document as it was indexed, by its root's name and its path.",
        mime_type="text/plain",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


def read_resource(live: LiveIndex, uri: str) -> types.ReadResourceResult:
    """A document's text as indexed, under a banner if it is retired or no longer current.

    Raises:
        DocumentNotFound: the URI names none.
        PathRefused: the path leads elsewhere now.
    """
    with live.use() as index:
        file = document_of_uri(index, uri)
        uri = uri_of(file.root, file.path)
        lines = "".join(f"[{notice}]\n\n" for notice in banner(file, state_of(index, file)))
        text = index.catalog.text(file.number)
        ready, rest = len(text), ""
        room = RESOURCE_BYTES - json_size([uri, lines]) - FRAME_BYTES
        if json_size(text) > room:
            kept = len(fit_prefix(text, room - 2 * json_size(display_name((file.root, file.path)))))
            ready = text.rfind("\n", 0, kept) + 1 or kept
            rest = f"\n[Cut. The rest: {call_from(file, place_of(text, ready))}]"
    content = types.TextResourceContents(
        uri=uri, mime_type="text/plain", text=lines + safe_text(text[:ready]) + rest
    )
    return types.ReadResourceResult(contents=[content])


def complete(live: LiveIndex, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Roots or paths that continue what was typed; a prompt takes `root:path`."""
    given = (params.context.arguments if params.context else None) or {}
    with live.use() as index:
        found = _continuations(
            index.catalog.names(),
            params.argument.name,
            params.argument.value,
            given.get("root"),
            whole_names=isinstance(params.ref, types.PromptReference),
        )
    offered: list[str] = []
    room = ANSWER_BYTES - FRAME_BYTES
    for value in found[:MOST_COMPLETIONS]:
        room -= json_size(value) + 2
        if room < 0:
            break
        offered.append(value)
    more = len(offered) < len(found)
    completion = types.Completion(values=offered, total=len(found), has_more=more)
    return types.CompleteResult(completion=completion)


def _continuations(
    known: Sequence[DocumentName], argument: str, typed: str, root: str | None, *, whole_names: bool
) -> list[str]:
    names = [name for name in known if root in (None, "", name[0])]
    if argument == "root":
        return sorted({root for root, _ in names if root.casefold().startswith(typed.casefold())})
    if argument != "path":
        return []
    fits = [name for name in names if _goes_on(name, typed)]
    return [display_name(name) if whole_names else one_line(name[1]) for name in fits]


def _goes_on(name: DocumentName, typed: str) -> bool:
    """Whether the path, `root:path` or the file's name begins as typed."""
    begun, path = unicodedata.normalize("NFC", typed).casefold(), name[1].casefold()
    starts = (path, f"{name[0].casefold()}:{path}", path.rpartition("/")[2])
    return any(start.startswith(begun) for start in starts)
