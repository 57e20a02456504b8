"""Lines that match a pattern as the answer of `grep_corpus`, with the lines around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_rag.answers_files import GrepArguments, GrepFile, GrepMatch, GrepResult
from local_rag.catalog import FileRecord
from local_rag.display import one_line, safe_text
from local_rag.fitting import ANSWER, LARGEST, size
from local_rag.freshness import is_stale
from local_rag.grep import SECONDS, Found, LineMatch, grep, spans_of
from local_rag.live import OpenIndex
from local_rag.naming import Glob
from local_rag.shown import notices_of, retired

USUAL = 20  # lines, for which an answer has its usual length
LONGEST_LINE = 240  # characters shown of a line
BEFORE = 80  # of them before the match
SIGNS = re.compile(r"[\\^$*+?\[|]")  # by which expressions are known
ASCII_ONLY = re.compile(r"\\[bBwW]")  # in RE2


def grep_corpus(
    index: OpenIndex, arguments: GrepArguments, limit: int, context: int, notices: list[str]
) -> GrepResult:
    """Lines that match, by document.

    Raises:
        BadArgument: the pattern is none.
    """
    spans = spans_of(
        arguments.pattern, regex=arguments.regex, case_sensitive=arguments.case_sensitive
    )
    glob = Glob(arguments.glob, index.snapshot.manifest.roots)
    files = [file for file in index.catalog.files() if _wanted(file, arguments, glob)]
    if not files:
        notices.append("No indexed document fits root and glob.")
    found = grep(index.catalog, files, spans, limit)
    if found.stopped:
        notices.append(
            f"Stopped after {SECONDS:g} seconds, {found.searched} of {len(files)} documents "
            "searched. Narrow it by glob, or take a simpler pattern."
        )
    notices += _hints(index, arguments, found)
    result = GrepResult(total=found.total, total_files=found.total_files, files=[], notices=[])
    room = (ANSWER if limit <= USUAL else LARGEST) - 300 - size(notices_of(notices))
    shown = _fill(index, result, found, context, room)
    if shown < found.total:
        notices.append(f"{shown} of {found.total} lines are shown; narrow the pattern or glob.")
    result.notices = notices_of(notices)
    return result


def _hints(index: OpenIndex, arguments: GrepArguments, found: Found) -> Iterator[str]:
    """What may be why there is no more to be found."""
    if _may_miss(arguments, found):
        yield r"\b and \w know ASCII letters alone; \pL is a letter of any script."
    if found.total:
        return
    if not arguments.include_superseded and index.catalog.count("files", "superseded"):
        yield "Superseded documents were not searched; pass include_superseded=True."
    if not arguments.regex and SIGNS.search(arguments.pattern):
        yield "The pattern was taken as it is; for an expression pass regex=True."


def _may_miss(arguments: GrepArguments, found: Found) -> bool:
    """Whether what RE2 takes for a word may be why so little is found."""
    asked = arguments.regex and ASCII_ONLY.search(arguments.pattern)
    return bool(asked) and (not found.total or not arguments.pattern.isascii())


def _wanted(file: FileRecord, arguments: GrepArguments, glob: Glob) -> bool:
    return (
        (arguments.include_superseded or file.lifecycle != "superseded")
        and (not arguments.root or file.root == arguments.root)
        and (not arguments.glob or glob.fits(file.root, file.path))
    )


def _fill(index: OpenIndex, result: GrepResult, found: Found, context: int, room: int) -> int:
    """Puts in what fits, and answers how many lines that is."""
    shown = 0
    for file, text, lines in found.files:
        entry = GrepFile(
            root=file.root,
            path=one_line(file.path),
            lifecycle=retired(file).get("lifecycle"),
            stale=is_stale(index, file) or None,
            matches=[],
        )
        room -= max(size(entry.model_dump(exclude_none=True)), size(entry.markdown())) + 4
        around = text.split("\n") if context else []
        for line in lines:
            match = _match(text, around, line, context)
            room -= size(match.model_dump(exclude_none=True)) + 8 * match.text.count("\n") + 8
            if room < 0 and shown:
                return shown
            if not entry.matches:
                result.files.append(entry)
            entry.matches.append(match)
            shown += 1
    return shown


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
