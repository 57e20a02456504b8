"""A document's contents as the answer of `outline`, in pages."""

from __future__ import annotations

from local_rag.answers_files import OutlineArguments, OutlineEntry, OutlineResult
from local_rag.display import one_line, spelled_call
from local_rag.finding import find_file, shown
from local_rag.fitting import ANSWER, TITLE, shorten, size
from local_rag.freshness import is_stale
from local_rag.live import OpenIndex
from local_rag.shown import notices_of, title_of

NEXT_CALL = 80  # bytes of the next call beside the path
MOST = 200  # headings looked at for one answer, more than fit


def outline(index: OpenIndex, arguments: OutlineArguments) -> OutlineResult:
    """As many of the headings from a line on as fit.

    Raises:
        DocumentNotFound: no such document is indexed.
    """
    file = find_file(index, arguments.path)
    text = index.catalog.text(file.number)
    entries = index.catalog.headings_of(file.number, arguments.start_line, MOST)
    notices = index.first_notices
    if not entries and index.catalog.headings_of(file.number, 1, 1):
        notices.append("No heading starts that far down.")
    elif not entries:
        notices.append("This document has no headings or pages; read it with get_file.")
    result = OutlineResult(
        root=file.root,
        path=one_line(file.path),
        title=title_of(file),
        lifecycle=file.lifecycle,
        stale=is_stale(index, file) or None,
        total_lines=text.count("\n") + (not text.endswith("\n")),
        chunks=index.catalog.chunk_count(file.number),
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
