"""The block structure of Markdown: headings, and the pieces that are best kept whole.

Uses markdown-it-py's block rules alone (CommonMark and tables); inline markup is left unparsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Syntax = Literal["markdown", "rst", "org", "asciidoc", "code", "table", "plain"]
"""How a text shows its structure. `table` is one row a line, the first of them the header."""

LONGEST_HEADING = 200  # characters kept of a heading in a trail


@dataclass(frozen=True)
class Block:
    """A top-level block: characters `start` to `end`; `level` 1-6 and `heading` for headings."""

    start: int
    end: int
    level: int = 0
    heading: str = ""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def line_starts(text: str) -> list[int]:
    """The offset of every line's first character; lines end with `\\n` alone."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def blocks(text: str) -> list[Block]:
    """The top-level blocks of Markdown `text` in order. Blank lines lie between them."""
    # The parser takes a lone \r as a line end and would count other lines than we do.
    tokens = _parser().parse(re.sub(r"\r(?!\n)", " ", text))
    starts = [*line_starts(text), len(text)]
    return [
        _block(tokens, index, starts)
        for index, token in enumerate(tokens)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def _block(tokens: list[Token], index: int, starts: list[int]) -> Block:
    token = tokens[index]
    first, last = token.map or (0, 0)
    start, end = starts[first], starts[min(last, len(starts) - 1)]
    if token.type != "heading_open":
        return Block(start, end)
    return Block(start, end, int(token.tag[1]), plain_heading(tokens[index + 1].content))


def plain_heading(markup: str) -> str:
    """A heading's text without links' targets, emphasis marks and `{#anchors}`."""
    text = re.sub(r"\{[#.][^}]*\}\s*$", "", markup)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*|__|`|<[^>]+>", "", text)
    return " ".join(text.split())[:LONGEST_HEADING]


def first_heading(text: str) -> str | None:
    """The first level-1 heading, which is a document's title where front matter names none."""
    for block in blocks(text):
        if block.level == 1 and block.heading:
            return block.heading
    return None
