"""The block structure of a text: headings, and pieces that are best kept whole.

markdown-it-py reads Markdown, by CommonMark's block rules alone: inline markup is left unparsed.
Of reStructuredText, Org and AsciiDoc only the headings and the paragraphs between them are read.
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

LONGEST_HEADING = 200  # characters kept of a heading in a trail
BLANK_LINES = re.compile(r"\n[ \t]*\r?\n\s*")
# Possessive: a row of 40,000 blanks took a minute when each run of them could give some back.
TABLE_DELIMITER_ROW = re.compile(
    r"^[ \t]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?\r?$",
    re.MULTILINE,
)
# What follows an empty line and is not indented starts a function or the like.
CODE_START = re.compile(r"\n[ \t]*\r?\n(?=\S)")
RST_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*")
ORG_TITLE = re.compile(r"(?im)^#\+title:[ \t]*(\S.*)$")
ORG_HEADING = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(?:\[#[A-Z]\][ \t]*)?(.*)")
ORG_TAGS = re.compile(r":[\w@:]+:")
ASCIIDOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
ASCIIDOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|_{4,}|\*{4,}|```.*)\s*")
# A link, or brackets that no target follows: inside those no link can start.
LINK = re.compile(r"!?\[([^\]]*+)\]\([^)]*+\)|\[[^\]]*+\]?")
TAG_OR_MARK = re.compile(r"\*\*|__|`|<[^>]+>")
MARK = re.compile(r"\*\*|__|`")
ANCHOR_START = re.compile(r"\{[#.]")


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


@dataclass(frozen=True)
class _Heading:
    """A heading: its first line (from 0), the line after it, its level from 1, its text."""

    first: int
    end: int
    level: int
    text: str


def blocks(text: str, syntax: Syntax = "markdown", start: int = 0) -> tuple[Block, ...]:
    """The top-level blocks of `text` from `start` on, with only blank lines between them."""
    found = _blocks(text[start:], syntax)
    return tuple(_moved(block, start) for block in found) if start else tuple(found)


def document_title(text: str, syntax: Syntax, blocks: Sequence[Block]) -> str | None:
    """The title of a document whose metadata has none.

    In Markdown it is the first level-1 heading; elsewhere the first heading, or what Org declares.
    """
    if syntax == "org" and (match := ORG_TITLE.search(text)):
        return _plain_heading(match[1])
    for block in blocks:
        if block.heading and (block.level == 1 or syntax != "markdown"):
            return block.heading
    return None


def _blocks(text: str, syntax: Syntax) -> list[Block]:
    match syntax:
        case "markdown":
            return _markdown(text)
        case "rst":
            return _outlined(text, list(_rst_headings(text.split("\n"))))
        case "org":
            return _outlined(text, list(_org_headings(text.split("\n"))))
        case "asciidoc":
            return _outlined(text, list(_asciidoc_headings(text.split("\n"))))
        case "table":
            header = text.find("\n") + 1
            return [Block(0, len(text), head_end=header)] if header else []
        case "code":
            return _pieces(text, CODE_START, 0, len(text))
    return []


def _moved(block: Block, by: int) -> Block:
    head_end = block.head_end + by if block.head_end else 0
    return replace(block, start=block.start + by, end=block.end + by, head_end=head_end)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["inline", "text_join"])


def _markdown(text: str) -> list[Block]:
    # The parser takes a lone \r for a line end, so its line numbers would differ from ours.
    tokens = _parser().parse(re.sub(r"\r(?!\n)", " ", text))
    starts = [*line_starts(text), len(text)]
    found = []
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting >= 0 and token.map:
            start, end = (starts[min(line, len(starts) - 1)] for line in token.map)
            if token.type == "heading_open":
                heading = _plain_heading(tokens[index + 1].content)
                found.append(Block(start, end, int(token.tag[1]), heading))
            elif token.type == "paragraph_open":
                found += _paragraph(text, start, end)
            else:
                found.append(Block(start, end))
    return found


def _paragraph(text: str, start: int, end: int) -> list[Block]:
    """A paragraph, or a table, perhaps with prose in the lines before it.

    The parser's own rule for tables makes ten tokens a row: a table of 3 MB took 1.2 GB.
    """
    for match in TABLE_DELIMITER_ROW.finditer(text, start, end) if "|" in text[start:end] else ():
        head = text.rfind("\n", start, max(start, match.start() - 1)) + 1 or start
        if match.start() > start and "|" in match[0] and "|" in text[head : match.start()]:
            prose = [Block(start, head)] if head > start else []
            return [*prose, Block(head, end, head_end=min(match.end() + 1, end))]
    return [Block(start, end)]


def _outlined(text: str, headings: list[_Heading]) -> list[Block]:
    """Each heading as a block, and the paragraphs between them."""
    starts = [*line_starts(text), len(text)]
    found = []
    at = 0
    for heading in headings:
        found += _pieces(text, BLANK_LINES, at, starts[heading.first])
        at = starts[min(heading.end, len(starts) - 1)]
        title = _plain_heading(heading.text)
        found.append(Block(starts[heading.first], at, min(6, heading.level), title))
    return found + _pieces(text, BLANK_LINES, at, len(text))


def _pieces(text: str, gap: re.Pattern[str], start: int, end: int) -> list[Block]:
    """The text from `start` to `end`, cut after every gap."""
    borders = [start, *(match.end() for match in gap.finditer(text, start, end)), end]
    return [Block(a, b) for a, b in pairwise(borders) if text[a:b].strip()]


def _rst_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Titles, told by their lines of punctuation; a style's level is its place among the styles."""
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
        yield _Heading(index, end, styles.index(style) + 1, text.strip())
        index = end


def _adorns(line: str, title: str) -> bool:
    if not title.strip() or RST_ADORNMENT.fullmatch(title):
        return False
    return bool(RST_ADORNMENT.fullmatch(line)) and len(line.rstrip()) >= len(title.rstrip())


def _org_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Lines that start with stars, outside `#+BEGIN` blocks."""
    block = ""
    for number, line in enumerate(lines):
        word = line.strip().lower()
        if block:
            block = "" if word.startswith(block) else block
        elif word.startswith("#+begin_"):
            block = word.split()[0].replace("begin", "end", 1)
        elif match := ORG_HEADING.fullmatch(line):
            title = _without_last_word(ORG_TAGS, match[2])
            yield _Heading(number, number + 1, len(match[1]), title)


def _asciidoc_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Lines that start with equals signs, outside delimited blocks."""
    fence = ""
    for number, line in enumerate(lines):
        if fence:
            fence = "" if line.rstrip() == fence else fence
        elif match := ASCIIDOC_FENCE.fullmatch(line):
            fence = "```" if match[1].startswith("```") else match[1]
        elif match := ASCIIDOC_HEADING.fullmatch(line):
            title = _without_last_word(re.compile(match[1]), match[2])
            yield _Heading(number, number + 1, len(match[1]), title)


def _without_last_word(last: re.Pattern[str], text: str) -> str:
    """A heading's text without its last word if that is markup.

    It is taken apart by hand: one expression for the whole line took minutes for 100,000 blanks.
    """
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and last.fullmatch(words[1]) else text.strip()


def _plain_heading(markup: str) -> str:
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
