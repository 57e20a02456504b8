"""What a converter returns: Markdown-like text with positions. Pure data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any


class Unconvertible(ValueError):
    """No text can be extracted from the file; the message says why."""


class NoText(Unconvertible):
    """The file is intact but has no text, such as a scan."""


class LibraryMissing(Unconvertible):
    """The format needs a library that is not installed."""


@dataclass(frozen=True)
class Extract:
    """A file's text. `pages` says at which character each page or the like begins.

    `metadata` is what front matter would say.
    """

    text: str
    title: str = ""
    pages: tuple[tuple[int, str], ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        """The whole as UTF-8 JSON."""
        return json.dumps(asdict(self), default=str).encode("utf-8", "replace")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Extract:
        """What `to_json` wrote."""
        pages = tuple((int(offset), str(label)) for offset, label in values["pages"])
        # A lone surrogate, which no database takes, becomes one other character.
        text = str(values["text"]).encode("utf-8", "replace").decode("utf-8")
        title = str(values["title"]).encode("utf-8", "replace").decode("utf-8")
        return cls(
            text, title, pages, dict(values["metadata"]),
            tuple(str(warning) for warning in values["warnings"]),
        )  # fmt: skip


class Pages:
    """Text assembled page by page."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[tuple[int, str]] = []

    def add(self, label: str, text: str) -> None:
        """Appends a page; a page without text is skipped."""
        text = tidy(text)
        if text:
            self._pages.append((self._length, label))
            self._parts.append(text + "\n\n")
            self._length += len(text) + 2

    def extract(self, title: str = "", metadata: dict[str, Any] | None = None) -> Extract:
        """Everything added."""
        text = "".join(self._parts).rstrip("\n")
        return Extract(
            text + "\n" if text else "", title.strip(), tuple(self._pages), metadata or {}
        )


def tidy(text: str) -> str:
    """`text` with `\\n` line ends, and without blanks at line ends and runs of empty lines."""
    text = re.sub(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]", "\n", text.replace("\0", ""))
    text = re.sub(r"[ \t\u00a0]+(?=\n|\Z)", "", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def escaped(line: str) -> str:
    """A line of prose that must not read as Markdown's headings or fences."""
    return re.sub(r"^(\s*)(#|```|~~~|={3,}\s*$|-{3,}\s*$)", r"\1\\\2", line)


def table_rows(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its header."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [_row(row + [""] * (width - len(row))) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
