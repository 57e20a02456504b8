"""The headings of markup other than Markdown, found line by line: reStructuredText, Org, AsciiDoc.

Only what shows where a section starts; everything else of these languages is left as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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

    Taken apart by hand: an expression for all of the line took minutes for 100,000 blanks in it.
    """
    words = text.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and last.fullmatch(words[1]) else text.strip()
