"""`grep_corpus`: every line that matches a pattern, with the lines around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel, Field

from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.index.paths import Glob
from local_rag.reading.freshness import is_stale
from local_rag.reading.grep import GREP_SECONDS, GrepMatches, LineMatch, grep, spans_of
from local_rag.text.sanitize import one_line, safe_text
from local_rag.text.trim import json_size
from local_rag.tools.answer import Result, lifecycle_fields, notice_lines
from local_rag.tools.answer_size import ANSWER_BYTES, LARGEST_ANSWER_BYTES
from local_rag.tools.arguments import Arguments, NameArgument, clamped
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
Find every line of the indexed documents that contains a text exactly, or with regex matches an RE2
expression, with line numbers. Use it for identifiers, error codes and "where does this occur at
all"; for questions use search_corpus. It stops after 5 seconds and says how far it got."""
MOST_MATCHES = 200
MOST_CONTEXT = 5
LONGEST_PATTERN = 1_000
USUAL_MATCHES = 20  # up to so many, an answer has its usual size
LONGEST_LINE = 240  # characters shown of a line
BEFORE = 80  # of them before the match
EXPRESSION_SIGNS = re.compile(r"[\\^$*+?\[|]")  # that make a pattern look like an expression
ASCII_ONLY = re.compile(r"\\[bBwW]")  # in RE2


class GrepArguments(Arguments):
    """Arguments of `grep_corpus`."""

    pattern: str = Field(
        max_length=LONGEST_PATTERN,
        description="Text to find within a line; with regex an RE2 expression.",
    )
    regex: bool = Field(False, description="Treat pattern as a regular expression (RE2 syntax).")
    glob: NameArgument = Field("", description="Only paths matching this, such as runbooks/*.md.")
    root: NameArgument = Field("", description="Only documents in this root.")
    case_sensitive: bool = Field(False, description="Distinguish upper from lower case.")
    context: int = Field(0, description=f"Lines of context around each match, 0 to {MOST_CONTEXT}.")
    limit: int = Field(20, description=f"Maximum number of lines, 1 to {MOST_MATCHES}.")
    include_superseded: bool = Field(False, description="Also search superseded documents.")


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
        """This as readable text."""
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
        """This as readable text."""
        head = f"{self.total} lines match in {self.total_files} documents."
        return "\n\n".join([*self.noticed(), head, *(file.markdown() for file in self.files)])


def grep_corpus(sources: Sources, arguments: GrepArguments) -> GrepResult:
    """Lines that match, by document.

    Raises:
        BadArgument: the pattern is malformed.
    """
    limit = clamped("limit", arguments.limit, 1, MOST_MATCHES)
    context = clamped("context", arguments.context, 0, MOST_CONTEXT)
    spans = spans_of(
        arguments.pattern, regex=arguments.regex, case_sensitive=arguments.case_sensitive
    )
    with sources.live.use() as index:
        glob = Glob(arguments.glob, index.snapshot.manifest.roots)
        files = [file for file in index.catalog.files() if _wanted(file, arguments, glob)]
        found = grep(index.catalog, files, spans, limit.value)
        notices = [*limit.notices, *context.notices, *index.first_notices]
        notices += _hints(index, arguments, found, len(files))
        room = (ANSWER_BYTES if limit.value <= USUAL_MATCHES else LARGEST_ANSWER_BYTES) - 300
        shown = _shown(index, found, context.value, room - json_size(notice_lines(notices)))
    count = sum(len(file.matches) for file in shown)
    if count < found.total:
        notices.append(f"{count} of {found.total} lines are shown; narrow the pattern or glob.")
    return GrepResult(
        total=found.total,
        total_files=found.total_files,
        files=shown,
        notices=notice_lines(notices),
    )


def _hints(
    index: OpenIndex, arguments: GrepArguments, found: GrepMatches, files: int
) -> Iterator[str]:
    """Why there may be no more matches."""
    if not files:
        yield "No indexed document matches root and glob."
    if found.stopped:
        yield (
            f"Stopped after {GREP_SECONDS:g} seconds, {found.searched} of {files} documents "
            "searched. Narrow it by glob, or use a simpler pattern."
        )
    by_class = arguments.regex and ASCII_ONLY.search(arguments.pattern)
    if by_class and (not found.total or not arguments.pattern.isascii()):
        yield r"\b and \w match ASCII letters only; \pL matches a letter of any script."
    if found.total:
        return
    if not arguments.include_superseded and index.catalog.count("files", "superseded"):
        yield "Superseded documents were not searched; pass include_superseded=True."
    if not arguments.regex and EXPRESSION_SIGNS.search(arguments.pattern):
        yield "The pattern was matched literally; for a regular expression pass regex=True."


def _wanted(file: FileRecord, arguments: GrepArguments, glob: Glob) -> bool:
    return (
        (arguments.include_superseded or file.lifecycle != "superseded")
        and (not arguments.root or file.root == arguments.root)
        and (not arguments.glob or glob.matches(file.root, file.path))
    )


def _shown(index: OpenIndex, found: GrepMatches, context: int, room: int) -> list[GrepFile]:
    """The files and lines that fit; at least one line if any matched."""
    files: list[GrepFile] = []
    for file, text, lines in found.files:
        entry = GrepFile(
            root=file.root,
            path=one_line(file.path),
            lifecycle=lifecycle_fields(file).get("lifecycle"),
            stale=is_stale(index, file) or None,
            matches=[],
        )
        room -= max(json_size(entry.model_dump(exclude_none=True)), json_size(entry.markdown())) + 4
        around = text.split("\n") if context else []
        for line in lines:
            match = _match(text, around, line, context)
            room -= json_size(match.model_dump(exclude_none=True)) + 8 * match.text.count("\n") + 8
            if room < 0 and files:
                return files
            if not entry.matches:
                files.append(entry)
            entry.matches.append(match)
    return files


def _match(text: str, around: list[str], match: LineMatch, context: int) -> GrepMatch:
    first = max(1, match.line - context)
    before = around[first - 1 : match.line - 1]
    after = around[match.line : match.line + context]
    line = _window(text, match)
    shown = [*(_clipped(part) for part in before), line, *(_clipped(part) for part in after)]
    cut = any("…" in part and part not in text for part in shown)
    return GrepMatch(
        line=match.line,
        start_line=first,
        text=safe_text("\n".join(shown)),
        cut=cut or None,
    )


def _window(text: str, match: LineMatch) -> str:
    """The line of a match, or what stands around it in a long line."""
    begin = text.rfind("\n", 0, match.start) + 1
    end = text.find("\n", match.start)
    end = len(text) if end < 0 else end
    if end - begin <= LONGEST_LINE:
        return text[begin:end].removesuffix("\r")
    first = max(begin, min(match.start - BEFORE, end - LONGEST_LINE))
    last = min(end, first + LONGEST_LINE)
    return ("…" if first > begin else "") + text[first:last] + ("…" if last < end else "")


def _clipped(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "…"


TOOL = Tool("grep_corpus", DESCRIPTION, GrepArguments, GrepResult, grep_corpus)
