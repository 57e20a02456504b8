"""A document's contents as the answer of `outline`, in pages."""

from __future__ import annotations

from local_rag.answers_files import OutlineArguments, OutlineEntry, OutlineResult
from local_rag.contents import contents
from local_rag.display import one_line, spelled_call
from local_rag.finding import find_file, shown
from local_rag.fitting import ANSWER, TITLE, shorten, size
from local_rag.freshness import is_stale
from local_rag.live import OpenIndex
from local_rag.shown import notices_of, title_of

NEXT_CALL = 80  # bytes of the next call beside the path


def outline(index: OpenIndex, arguments: OutlineArguments) -> OutlineResult:
    """As many of the headings from a line on as fit.

    Raises:
        DocumentNotFound: no such document is indexed.
    """
    file = find_file(index, arguments.path)
    text, chunks = index.catalog.text(file.number), index.catalog.chunks_of(file.number)
    every = contents(file.path, text, chunks)
    entries = [entry for entry in every if entry.first_line >= arguments.start_line]
    notices = index.first_notices
    if not every:
        notices.append("This document has no headings or pages; read it with get_file.")
    elif not entries:
        notices.append(f"No heading from line {shorten(str(arguments.start_line), 20)} on.")
    result = OutlineResult(
        root=file.root,
        path=one_line(file.path),
        title=title_of(file),
        lifecycle=file.lifecycle,
        stale=is_stale(index, file) or None,
        total_lines=text.count("\n") + (not text.endswith("\n")),
        chunks=len(chunks),
        entries=[],
        notices=notices_of(notices),
    )
    name = shown((file.root, file.path))
    room = ANSWER - max(size(result.lean()), size(result.markdown())) - 2 * size(name) - NEXT_CALL
    for entry in entries:
        heading = shorten(one_line(entry.heading), TITLE)
        added = OutlineEntry(
            level=entry.level, heading=heading,
            start_line=entry.first_line, end_line=entry.last_line,
        )  # fmt: skip
        room -= max(size(added.model_dump()), size(added.markdown())) + 4
        if room < 0 and result.entries:
            result.next_call = spelled_call("outline", path=name, start_line=entry.first_line)
            break
        result.entries.append(added)
    return result
