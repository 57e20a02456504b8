"""`list_files`: which documents are indexed, filtered, sorted and in pages."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from local_rag.errors import BadArgument
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.index.paths import Glob
from local_rag.search.filters import has_tag, modified, parse_date
from local_rag.text.sanitize import one_line
from local_rag.text.trim import json_size
from local_rag.tools.answer import Result, lifecycle_fields, notice_lines
from local_rag.tools.answer_size import ANSWER_BYTES, LARGEST_ANSWER_BYTES, display_title
from local_rag.tools.arguments import Arguments, NameArgument, clamped
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
List the indexed documents with title, size, date, lifecycle and number of chunks, filtered by glob,
root, tag, lifecycle or date, in pages. Use it to see what there is, what is new or what was
retired; to find what a document says, use search_corpus."""
MOST_FILES = 200
USUAL_FILES = 40  # up to so many, an answer has its usual size


class ListArguments(Arguments):
    """Arguments of `list_files`."""

    glob: NameArgument = Field("", description="Only paths matching this, such as runbooks/*.md.")
    root: NameArgument = Field("", description="Only documents in this root.")
    tag: NameArgument = Field("", description="Only documents with this tag.")
    lifecycle: Literal["all", "active", "superseded"] = Field(
        "all", description="Only active documents, or only superseded ones."
    )
    changed_since: NameArgument = Field(
        "", description="Only documents modified on or after this date, such as 2026-05-31."
    )
    sort: Literal["path", "modified", "size", "title"] = Field(
        "path", description="modified: newest first; size: largest first."
    )
    limit: int = Field(40, description=f"Maximum number of files, 1 to {MOST_FILES}.")
    cursor: NameArgument = Field("", description="next_cursor of the previous page.")


class ListedFile(BaseModel):
    """One document."""

    root: str
    path: str
    title: str
    size: int
    modified: str
    lifecycle: str
    superseded_by: str | None = None
    chunks: int

    def markdown(self) -> str:
        """This as readable text."""
        by = f" by {self.superseded_by}" if self.superseded_by else ""
        retired = f", {self.lifecycle}{by}" if self.lifecycle != "active" else ""
        facts = f"{self.size} bytes, {self.modified}, {self.chunks} chunks{retired}"
        return f"- {self.root}:{self.path} ({self.title}; {facts})"


class ListResult(Result):
    """A page of the documents that fit; `total` counts all of them."""

    total: int
    files: list[ListedFile]
    next_cursor: str | None = None

    def markdown(self) -> str:
        """This as readable text."""
        rest = [f"The rest: the same call with cursor='{self.next_cursor}'"]
        parts = [*self.noticed(), f"{self.total} documents fit."]
        parts += [file.markdown() for file in self.files]
        return "\n".join(parts + (rest if self.next_cursor else []))


def list_files(sources: Sources, arguments: ListArguments) -> ListResult:
    """A page of the documents that match.

    Raises:
        BadArgument: a date is malformed, or no matching document has the cursor.
    """
    limit = clamped("limit", arguments.limit, 1, MOST_FILES)
    with sources.live.use() as index:
        files = _sorted(pick(index, arguments), arguments.sort)
        counts = index.catalog.chunk_counts()
        notices = [*limit.notices, *index.first_notices]
    first = _after(files, arguments.cursor)
    if not files:
        notices.append("No indexed document matches these filters.")
    result = ListResult(total=len(files), files=[], notices=notice_lines(notices))
    room = (
        (ANSWER_BYTES if limit.value <= USUAL_FILES else LARGEST_ANSWER_BYTES)
        - json_size(result.markdown())
        - 100
    )
    for file in files[first : first + limit.value]:
        listed = _listed(file, counts.get(file.number, 0))
        room -= (
            max(json_size(listed.model_dump(exclude_none=True)), json_size(listed.markdown())) + 4
        )
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
        and (not wanted.glob or glob.matches(file.root, file.path))
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
            return sorted(files, key=lambda file: display_title(file).casefold())
    return files


def _after(files: list[FileRecord], cursor: str) -> int:
    """Where the page begins. Files keep their numbers, so a new snapshot does not break a list."""
    if not cursor:
        return 0
    for place, file in enumerate(files):
        if str(file.number) == cursor:
            return place + 1
    raise BadArgument("The cursor does not belong to this list.", "Leave it out to start over.")


def _listed(file: FileRecord, chunks: int) -> ListedFile:
    return ListedFile(
        root=file.root,
        path=one_line(file.path),
        title=display_title(file),
        size=file.size,
        modified=modified(file).isoformat(timespec="seconds").replace("+00:00", "Z"),
        lifecycle=file.lifecycle,
        superseded_by=lifecycle_fields(file).get("superseded_by"),
        chunks=chunks,
    )


TOOL = Tool("list_files", DESCRIPTION, ListArguments, ListResult, list_files)
