#!/usr/bin/env python3
"""Asks the configured index everything, and checks every answer.

No answer may exceed its size limit, and the suggested follow-up calls must add up to every
document, outline and list. Prints a table of what answers take: bytes, tokens and time. Exit codes:
0 all answers are right; 1 some are wrong, and are named; 2 the index could not be asked, or the
output could not be printed.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.cli.streams import prepare_streams, say
from local_rag.errors import RagError
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.server.resource_list import uri_of
from local_rag.server.resources import RESOURCE_BYTES, list_resources, read_resource
from local_rag.settings import load_settings
from local_rag.text.sanitize import safe_text
from local_rag.text.trim import json_size
from local_rag.tools.answer_size import ANSWER_BYTES, LARGEST_ANSWER_BYTES
from local_rag.tools.toolset import Toolset, open_toolset

HUGE = 10**9
PATTERNS = ("e", "а", "the", "1", "#", " ")
EXPRESSIONS = (".*", r"\w+", r"(a+)+$", "^$", ".")


@dataclass(frozen=True)
class Asked:
    """One call, and the size and time of its answer."""

    call: str
    bytes: int
    tokens: int
    seconds: float


@dataclass
class Findings:
    """The calls by tool, and what was wrong."""

    asked: dict[str, list[Asked]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    whole: int = 0
    as_on_disk: int = 0


class Asker:
    """Makes calls as a client does, and checks the size of each answer."""

    def __init__(self, tools: Toolset, tokens_of: Callable[[str], int]) -> None:
        self.tools, self.found = tools, Findings()
        self._tokens_of = tokens_of

    def __call__(self, name: str, cap: int = ANSWER_BYTES, **arguments: Any) -> dict[str, Any]:
        """The structured answer; an error is recorded as wrong."""
        call, began = f"{name}({arguments})"[:200], time.perf_counter()
        answer = self.tools.call(name, arguments)
        seconds = time.perf_counter() - began
        if answer.is_error:
            self.found.wrong.append(f"{call}: {answer.text}")
            return {}
        structured: dict[str, Any] = answer.structured or {}
        self._count(name, call, [structured, answer.text], cap, seconds)
        return structured

    def resource(self, method: str, cap: int, ask: Callable[[], types.Result]) -> dict[str, Any]:
        """The same for a request other than a tool call."""
        began = time.perf_counter()
        answer: dict[str, Any] = ask().model_dump(mode="json", by_alias=True, exclude_none=True)
        self._count(method, method, [answer], cap, time.perf_counter() - began)
        return answer

    def _count(self, name: str, call: str, forms: list[Any], cap: int, seconds: float) -> None:
        most = max(map(json_size, forms))
        tokens = self._tokens_of(json.dumps(forms[0], ensure_ascii=False))
        self.found.asked[name].append(Asked(call, most, tokens, seconds))
        if most > cap:
            self.found.wrong.append(f"{call}: {most} bytes, over {cap}")

    def follow(self, page: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A page, and all pages that its follow-up calls return."""
        while True:
            yield page
            if not page.get("next_call"):
                return
            node = ast.parse(page["next_call"], mode="eval").body
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Name)
            given = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
            page = self(node.func.id, **given)


def check_documents(ask: Asker, index: OpenIndex) -> None:
    """Reads, outlines and opens as a resource every document."""
    for file in index.catalog.files():
        name = f"{file.root}:{file.path}"
        text = "".join(page.get("text", "") for page in ask.follow(ask("get_file", path=name)))
        _compare(ask.found, name, text, safe_text(index.catalog.text(file.number)))
        ask.found.as_on_disk += text == _on_disk(file)
        pages = list(ask.follow(ask("outline", path=name)))
        headings = [entry for page in pages for entry in page.get("entries", ())]
        stored = index.catalog.headings_of(file.number, 0, HUGE)
        if [h["start_line"] for h in headings] != [h.first_line for h in stored]:
            ask.found.wrong.append(f"outline of {name}: {len(headings)} of {len(stored)}")
        uri = uri_of(file.root, file.path)
        ask.resource("resources/read", RESOURCE_BYTES, partial(read_resource, ask.tools.live, uri))


def _compare(found: Findings, name: str, text: str, indexed: str) -> None:
    if text == indexed:
        found.whole += 1
    else:
        found.wrong.append(f"pages of {name}: {len(text)} of {len(indexed)} characters")


def _on_disk(file: FileRecord) -> str | None:
    """A file's bytes as UTF-8, without what `safe_text` removes; None for another encoding."""
    try:
        return safe_text(Path(file.location).read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return None


def check_lists(ask: Asker, index: OpenIndex) -> None:
    """Follows the lists of files and resources to their ends."""
    count = index.snapshot.manifest.files
    for limit, cap in ((40, ANSWER_BYTES), (HUGE, LARGEST_ANSWER_BYTES)):
        for sort in ("path", "modified", "size", "title"):
            seen, cursor = 0, ""
            while True:
                page = ask("list_files", cap, sort=sort, limit=limit, cursor=cursor)
                seen += len(page["files"])
                cursor = page.get("next_cursor", "")
                if not cursor:
                    break
            if seen != count:
                ask.found.wrong.append(f"list_files by {sort}: {seen} of {count}")
    found, place = 0, None
    while True:
        ask_page = partial(list_resources, ask.tools.live, place)
        resources = ask.resource("resources/list", LARGEST_ANSWER_BYTES, ask_page)
        found += len(resources["resources"])
        place = resources.get("nextCursor")
        if not place:
            break
    active = sum(file.lifecycle != "superseded" for file in index.catalog.files())
    if found != active:
        ask.found.wrong.append(f"resources/list: {found} of {active}")


def check_searches(ask: Asker, queries: list[str]) -> None:
    """Searches, fetches all hits with their neighbours, and greps for patterns found everywhere."""
    for query in queries:
        hits = ask("search_corpus", query=query).get("hits", [])
        everything = ask(
            "search_corpus", LARGEST_ANSWER_BYTES, query=query, limit=HUGE, include_superseded=True
        )
        for ids in ([h["id"] for h in hits], [h["id"] for h in everything.get("hits", [])][:10]):
            if ids:
                ask("fetch", ids=ids)
                ask("fetch", ids=ids, before=HUGE, after=HUGE)
    for regex, patterns in ((False, PATTERNS), (True, EXPRESSIONS)):
        for pattern in patterns:
            ask("grep_corpus", pattern=pattern, regex=regex)
            ask(
                "grep_corpus",
                LARGEST_ANSWER_BYTES,
                pattern=pattern,
                regex=regex,
                limit=HUGE,
                context=HUGE,
            )
    ask("corpus_status")


def queries_of(index: OpenIndex, most: int) -> list[str]:
    """Titles of documents from all over the index."""
    files = index.catalog.files()
    step = max(1, len(files) // max(1, most))
    return [file.title or file.path for file in files[::step]][:most]


def show(found: Findings) -> None:
    """Prints the table, the slowest calls and what is wrong."""
    say(f"{found.whole} documents whole by their pages, {found.as_on_disk} as on disk, in UTF-8")
    head = ("calls", "bytes median", "max", "tokens median", "max", "s median", "max")
    say(f"{'':16}" + "".join(f"{name:>14}" for name in head))
    for name, asked in found.asked.items():
        cells: list[str] = [str(len(asked))]
        for values in ([a.bytes for a in asked], [a.tokens for a in asked]):
            cells += [f"{statistics.median(values):.0f}", str(max(values))]
        seconds = [a.seconds for a in asked]
        cells += [f"{statistics.median(seconds):.3f}", f"{max(seconds):.3f}"]
        say(f"{name:16}" + "".join(f"{cell:>14}" for cell in cells))
    every = [a for asked in found.asked.values() for a in asked]
    for slow in sorted(every, key=lambda a: -a.seconds)[:5]:
        say(f"{slow.seconds:6.2f} s  {slow.call}")
    for line in found.wrong[:50]:
        say(f"WRONG  {line}")
    say(f"{len(every)} answers, {len(found.wrong)} wrong")


def main(arguments: Sequence[str]) -> int:
    """Runs all checks; returns the exit code."""
    parser = argparse.ArgumentParser("check_answers.py", description=__doc__)
    parser.add_argument(
        "--tokenizer", help="a tokenizer.json; without it, 4 bytes count as a token"
    )
    parser.add_argument("--queries", type=int, default=60, help="number of titles to search for")
    options = parser.parse_args(arguments)
    counter = Tokenizer.from_file(options.tokenizer) if options.tokenizer else None

    def tokens_of(text: str) -> int:
        if counter is None:
            return len(text.encode("utf-8", "replace")) // 4
        return len(counter.encode(text, add_special_tokens=False).ids)

    try:
        found = check(tokens_of, options.queries)
        show(found)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return int(bool(found.wrong))


def check(tokens_of: Callable[[str], int], queries: int) -> Findings:
    """Asks the configured index everything."""
    with closing(open_toolset(load_settings())) as tools, tools.live.use() as index:
        ask = Asker(tools, tokens_of)
        check_documents(ask, index)
        check_lists(ask, index)
        check_searches(ask, queries_of(index, queries))
    return ask.found


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
