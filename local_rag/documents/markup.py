"""The block structure of a text: headings, and pieces that are best kept whole.

markdown-it-py's CommonMark block rules read Markdown; inline markup is not parsed. Other markup is
read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt

from local_rag.documents.formats.registry import Syntax
from local_rag.text.lines import line_starts

# Possessive: a row of 40,000 blanks took a minute when each run of them could give some back.
DELIMITER_ROW = re.compile(
    r"^[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?\r?$",
    re.MULTILINE,
)
# A link, or brackets that no target follows: inside those no link can start.
LINK = re.compile(r"!?\[([^\]]*+)\]\([^)]*+\)|\[[^\]]*+\]?")
TAG_OR_MARK = re.compile(r"\*\*|__|`|<[^>]+>")
MARK = re.compile(r"\*\*|__|`")
ANCHOR_START = re.compile(r"\{[#.]")
LONGEST_HEADING = 200  # characters kept of a heading in a trail


@dataclass(frozen=True)
class Block:
    """A top-level block: characters `start` to `end`; `level` 1-6 and `heading` for headings.

    A table's header ends at `head_end`, which is 0 for everything else.
    """

    start: int
    end: int
    level: int = 0
    heading: str = ""
    head_end: int = 0


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["inline", "text_join"])


def blocks(text: str, syntax: Syntax = "markdown", start: int = 0) -> tuple[Block, ...]:
    """The top-level blocks of `text` from `start` on, with only blank lines between them."""
    return tuple(
        replace(
            b, start=b.start + start, end=b.end + start, head_end=b.head_end and b.head_end + start
        )
        for b in _blocks(text[start:], syntax)
    )


def _blocks(text: str, syntax: Syntax) -> list[Block]:
    match syntax:
        case "markdown":
            return _markdown(text)
        case "rst":
            return _outlined(text, list(rst_headings(text.split("\n"))))
        case "org":
            return _outlined(text, list(org_headings(text.split("\n"))))
        case "asciidoc":
            return _outlined(text, list(asciidoc_headings(text.split("\n"))))
        case "table":
            header = text.find("\n") + 1
            return [Block(0, len(text), head_end=header)] if header else []
        case "code":
            # What follows an empty line and is not indented starts a function or the like.
            borders = [0, *(m.end() for m in re.finditer(r"\n[ \t]*\r?\n(?=\S)", text)), len(text)]
            return [Block(a, b) for a, b in pairwise(borders) if text[a:b].strip()]
    return []


def _outlined(text: str, headings: list[Heading]) -> list[Block]:
    """Each heading as a block, and the paragraphs between them."""
    starts = [*line_starts(text), len(text)]
    found = []
    at = 0
    for heading in headings:
        found += _paragraphs(text, at, starts[heading.first])
        at = starts[min(heading.end, len(starts) - 1)]
        title = plain_heading(heading.text)
        found.append(Block(starts[heading.first], at, min(6, heading.level), title))
    return found + _paragraphs(text, at, len(text))


def _paragraphs(text: str, start: int, end: int) -> list[Block]:
    gaps = re.compile(r"\n[ \t]*\r?\n\s*").finditer(text, start, end)
    borders = [start, *(gap.end() for gap in gaps), end]
    return [Block(a, b) for a, b in pairwise(borders) if text[a:b].strip()]


def _markdown(text: str) -> list[Block]:
    # The parser reads a lone \r as a line end and would count lines differently.
    tokens = _parser().parse(re.sub(r"\r(?!\n)", " ", text))
    starts = [*line_starts(text), len(text)]
    found = []
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0 and token.map:
            start, end = (starts[min(line, len(starts) - 1)] for line in token.map)
            if token.type == "heading_open":
                heading = plain_heading(tokens[index + 1].content)
                found.append(Block(start, end, int(token.tag[1]), heading))
            elif token.type == "paragraph_open":
                found += _paragraph(text, start, end)
            else:
                found.append(Block(start, end))
    return found


def _paragraph(text: str, start: int, end: int) -> list[Block]:
    """A paragraph, or the table that it is, perhaps with lines of prose before it.

    The parser's own rule for tables makes ten tokens a row: a table of 3 MB took 1.2 GB.
    """
    for match in DELIMITER_ROW.finditer(text, start, end) if "|" in text[start:end] else ():
        head = text.rfind("\n", start, max(start, match.start() - 1)) + 1 or start
        if match.start() > start and "|" in match[0] and "|" in text[head : match.start()]:
            prose = [Block(start, head)] if head > start else []
            return [*prose, Block(head, end, head_end=min(match.end() + 1, end))]
    return [Block(start, end)]


def plain_heading(markup: str) -> str:
    """A heading's text without link targets, emphasis marks and `{#anchors}`.

    Each step reads the text once: `[`, `{#` or `<` over and over would be read to the end at each.
    """
    head, end, tail = _without_anchor(markup).rpartition(")")  # no link can end in the tail
    text = LINK.sub(lambda m: m[0] if m[1] is None else m[1], head + end) + tail
    head, end, tail = text.rpartition(">")
    text = TAG_OR_MARK.sub("", head + end) + MARK.sub("", tail)
    return " ".join(text.split())[:LONGEST_HEADING]


def _without_anchor(markup: str) -> str:
    text = markup.rstrip()
    if not text.endswith("}"):
        return text
    start = ANCHOR_START.search(text, text.rfind("}", 0, -1) + 1)
    return text[: start.start()] if start else text


def document_title(text: str, syntax: Syntax, blocks: Sequence[Block]) -> str | None:
    """The title of a document whose metadata give none.

    In Markdown the first level-1 heading; elsewhere the first heading, or what Org declares.
    """
    if syntax == "org" and (match := re.search(r"(?im)^#\+title:[ \t]*(\S.*)$", text)):
        return plain_heading(match[1])
    for block in blocks:
        if block.heading and (block.level == 1 or syntax != "markdown"):
            return block.heading
    return None


ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*")
ORG = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(?:\[#[A-Z]\][ \t]*)?(.*)")
ORG_TAGS = re.compile(r":[\w@:]+:")
ASCIIDOC = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
ASCIIDOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|_{4,}|\*{4,}|```.*)\s*")


@dataclass(frozen=True)
class Heading:
    """A heading: its first line (from 0), the line after it, its level from 1, its text."""

    first: int
    end: int
    level: int
    text: str


def rst_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Titles by their lines of punctuation; levels in the order in which the styles appear."""
    styles: list[tuple[str, bool]] = []
    index = 0
    while index < len(lines):
        over, title, under = (*lines[index : index + 3], "", "", "")[:3]
        above = lines[index - 1] if index else ""
        if _adorns(over, title.strip()) and under.rstrip() == over.rstrip():
            style, end, text = (over[0], True), index + 3, title
        elif not above.strip() and over[:1].strip() and _adorns(title, over):
            style, end, text = (title[0], False), index + 2, over
        else:
            index += 1
            continue
        if style not in styles:
            styles.append(style)
        yield Heading(index, end, styles.index(style) + 1, text.strip())
        index = end


def _adorns(line: str, title: str) -> bool:
    is_title = bool(title.strip()) and not ADORNMENT.fullmatch(title)
    return (
        is_title and bool(ADORNMENT.fullmatch(line)) and len(line.rstrip()) >= len(title.rstrip())
    )


def org_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Lines that start with stars, outside `#+BEGIN` blocks."""
    block = ""
    for number, line in enumerate(lines):
        word = line.strip().lower()
        if block:
            block = "" if word.startswith(block) else block
        elif word.startswith("#+begin_"):
            block = word.split()[0].replace("begin", "end", 1)
        elif match := ORG.fullmatch(line):
            yield Heading(number, number + 1, len(match[1]), _without(ORG_TAGS, match[2]))


def asciidoc_headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Lines that start with equals signs, outside delimited blocks."""
    fence = ""
    for number, line in enumerate(lines):
        if fence:
            fence = "" if line.rstrip() == fence else fence
        elif match := ASCIIDOC_FENCE.fullmatch(line):
            fence = "```" if match[1].startswith("```") else match[1]
        elif match := ASCIIDOC.fullmatch(line):
            yield Heading(
                number, number + 1, len(match[1]), _without(re.compile(match[1]), match[2])
            )


def _without(last: re.Pattern[str], text: str) -> str:
    """A heading's text without its last word if that is markup.

    Parsed by hand: an expression for the whole line took minutes for 100,000 blanks.
    """
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and last.fullmatch(words[1]) else text.strip()
