"""Arguments and results of the tools that look at files rather than at passages."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from local_rag.answers import Arguments, Name, Result

MOST_FILES = 200
MOST_MATCHES = 200
MOST_CONTEXT = 5
LONGEST_PATTERN = 1_000


class FileArguments(Arguments):
    """What `get_file` takes."""

    path: Name = Field(description="A path, root:path, or a file name or end of a path if unique.")
    start_line: int = Field(1, description="First line, counted from 1.")
    end_line: int | None = Field(None, description="Last line; the end of the file if left out.")
    start_column: int = Field(
        1, description="Where to begin in the first line; next_call says when a line is that long."
    )


class ListArguments(Arguments):
    """What `list_files` takes."""

    glob: Name = Field("", description="Only paths that fit, such as runbooks/*.md.")
    root: Name = Field("", description="Only documents of this root.")
    tag: Name = Field("", description="Only documents with this tag.")
    lifecycle: Literal["all", "active", "superseded"] = Field(
        "all", description="Only documents in force, or only retired ones."
    )
    changed_since: Name = Field("", description="Only documents changed since, as 2026-05-31.")
    sort: Literal["path", "modified", "size", "title"] = Field(
        "path", description="modified: newest first; size: largest first."
    )
    limit: int = Field(40, description=f"How many files at most, 1 to {MOST_FILES}.")
    cursor: Name = Field("", description="next_cursor of the page before.")


class OutlineArguments(Arguments):
    """What `outline` takes."""

    path: Name = Field(description="A path, as for get_file.")
    start_line: int = Field(1, description="Only headings from this line on.")


class GrepArguments(Arguments):
    """What `grep_corpus` takes."""

    pattern: str = Field(
        max_length=LONGEST_PATTERN,
        description="Text to be found in a line as it is; with regex an RE2 expression.",
    )
    regex: bool = Field(False, description="The pattern is a regular expression (RE2 syntax).")
    glob: Name = Field("", description="Only paths that fit, such as runbooks/*.md.")
    root: Name = Field("", description="Only documents of this root.")
    case_sensitive: bool = Field(False, description="Tell upper from lower case.")
    context: int = Field(0, description=f"Lines around each match, 0 to {MOST_CONTEXT}.")
    limit: int = Field(20, description=f"How many lines at most, 1 to {MOST_MATCHES}.")
    include_superseded: bool = Field(False, description="Retired documents too.")


class FileResult(Result):
    """Text of a document as indexed. `state` says whether the file on disk is still the same.

    Texts of pages that follow each other by `next_call` make up the whole text.
    """

    root: str
    path: str
    title: str
    lifecycle: str
    superseded_by: str | None = None
    start_line: int
    start_column: int | None = None
    end_line: int
    total_lines: int
    state: Literal["current", "changed", "gone"]
    text: str
    next_call: str | None = None

    def markdown(self) -> str:
        """The same for a reader."""
        head = f"{self.root}:{self.path} lines {self.start_line}-{self.end_line}"
        rest = [f"The rest: {self.next_call}"] if self.next_call else []
        parts = [f"{head} of {self.total_lines}", *self.noticed(), "", self.text, *rest]
        return "\n".join(parts)


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
        """The same for a reader."""
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
        """The same for a reader."""
        rest = [f"The rest: the same call with cursor='{self.next_cursor}'"]
        parts = [*self.noticed(), f"{self.total} documents fit."]
        parts += [file.markdown() for file in self.files]
        return "\n".join(parts + (rest if self.next_cursor else []))


class OutlineEntry(BaseModel):
    """A heading, or a page or the like, with the lines that are under it."""

    level: int
    heading: str
    start_line: int
    end_line: int

    def markdown(self) -> str:
        """The same for a reader."""
        indent = "  " * (self.level - 1)
        return f"{indent}- {self.heading} ({self.start_line}-{self.end_line})"


class OutlineResult(Result):
    """What a document holds, in its order. Read on with get_file and the lines of an entry."""

    root: str
    path: str
    title: str
    lifecycle: str
    stale: bool | None = None
    total_lines: int
    chunks: int
    entries: list[OutlineEntry]
    next_call: str | None = None

    def markdown(self) -> str:
        """The same for a reader."""
        rest = [f"The rest: {self.next_call}"] if self.next_call else []
        stale = " [STALE]" if self.stale else ""
        head = f"{self.root}:{self.path} ({self.title}), {self.total_lines} lines{stale}"
        entries = [entry.markdown() for entry in self.entries]
        return "\n".join([head, *self.noticed(), *entries, *rest])


class GrepMatch(BaseModel):
    """A line that matches, and those around it: `text` begins at `start_line`."""

    line: int
    start_line: int
    text: str
    cut: bool | None = None


class GrepFile(BaseModel):
    """The matches in one document."""

    root: str
    path: str
    lifecycle: str | None = None
    stale: bool | None = None
    matches: list[GrepMatch]

    def markdown(self) -> str:
        """The same for a reader."""
        marks = [self.lifecycle.upper()] if self.lifecycle else []
        marks += ["STALE"] if self.stale else []
        lines = [" ".join([f"{self.root}:{self.path}", *(f"[{mark}]" for mark in marks)])]
        for match in self.matches:
            for number, text in enumerate(match.text.split("\n"), match.start_line):
                lines.append(f"{number}{':' if number == match.line else '-'} {text}")
        return "\n".join(lines)


class GrepResult(Result):
    """Lines that match, by document. `total` counts them all, as far as was searched."""

    total: int
    total_files: int
    files: list[GrepFile]

    def markdown(self) -> str:
        """The same for a reader."""
        head = f"{self.total} lines match in {self.total_files} documents."
        return "\n\n".join([*self.noticed(), head, *(file.markdown() for file in self.files)])
