"""Which documents there are: picked, sorted and served in pages."""

from __future__ import annotations

from local_rag.answers_files import ListArguments, ListedFile, ListResult
from local_rag.catalog import FileRecord
from local_rag.display import one_line
from local_rag.errors import BadArgument
from local_rag.filters import has_tag, modified, parse_date
from local_rag.fitting import ANSWER, LARGEST, size
from local_rag.live import OpenIndex
from local_rag.naming import Glob
from local_rag.shown import notices_of, retired, title_of

USUAL = 40  # files, for which an answer has its usual length


def list_files(
    index: OpenIndex, arguments: ListArguments, limit: int, notices: list[str]
) -> ListResult:
    """A page of the documents that fit.

    Raises:
        BadArgument: a date is none, or the cursor belongs to no document that fits.
    """
    files = _sorted(pick(index, arguments), arguments.sort)
    counts = index.catalog.chunk_counts()
    first = _after(files, arguments.cursor)
    if not files:
        notices.append("No indexed document fits these filters.")
    result = ListResult(total=len(files), files=[], notices=notices_of(notices))
    room = (ANSWER if limit <= USUAL else LARGEST) - size(result.markdown()) - 100
    for file in files[first : first + limit]:
        listed = _listed(file, counts.get(file.number, 0))
        room -= max(size(listed.model_dump(exclude_none=True)), size(listed.markdown())) + 4
        if room < 0 and result.files:
            break
        result.files.append(listed)
    if first + len(result.files) < len(files):
        result.next_cursor = str(files[first + len(result.files) - 1].number)
    return result


def pick(index: OpenIndex, wanted: ListArguments) -> list[FileRecord]:
    """The files that pass every filter."""
    glob = Glob(wanted.glob, index.snapshot.manifest.roots)
    since = parse_date(wanted.changed_since) if wanted.changed_since else None
    tag = wanted.tag.lstrip("#").casefold()
    return [
        file
        for file in index.catalog.files()
        if (not wanted.root or file.root == wanted.root)
        and (not wanted.glob or glob.fits(file.root, file.path))
        and wanted.lifecycle in ("all", file.lifecycle)
        and (not tag or has_tag(tag, file))
        and (since is None or modified(file) >= since)
    ]


def _sorted(files: list[FileRecord], sort: str) -> list[FileRecord]:
    match sort:
        case "modified":
            return sorted(files, key=modified, reverse=True)
        case "size":
            return sorted(files, key=lambda file: -file.size)
        case "title":
            return sorted(files, key=lambda file: title_of(file).casefold())
    return files


def _after(files: list[FileRecord], cursor: str) -> int:
    """Where the page begins: files keep their numbers, so a new index needn't break the list."""
    if not cursor:
        return 0
    for place, file in enumerate(files):
        if str(file.number) == cursor:
            return place + 1
    raise BadArgument("The cursor is not one of this list.", "Leave it out to start again.")


def _listed(file: FileRecord, chunks: int) -> ListedFile:
    return ListedFile(
        root=file.root,
        path=one_line(file.path),
        title=title_of(file),
        size=file.size,
        modified=modified(file).isoformat(timespec="seconds").replace("+00:00", "Z"),
        lifecycle=file.lifecycle,
        superseded_by=retired(file).get("superseded_by"),
        chunks=chunks,
    )
