"""HTML to Markdown: what a reader of the page sees, without menus, scripts and hidden text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from local_rag.documents.formats.extract import Extract, escaped, table_rows, tidy
from local_rag.documents.front_matter import parse_front_matter
from local_rag.documents.metadata import HIDING_KEYS, normalise
from local_rag.text.encoding import decode

UNSEEN = frozenset(
    {"script", "style", "template", "noscript", "svg", "iframe", "object", "nav", "select", "head"}
)
BLOCK_ELEMENTS = frozenset({
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tr", "ul",
})  # fmt: skip
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta",
                  "source", "track", "wbr"})  # fmt: skip
CLOSED_BY_NEXT = frozenset({"p", "li", "td", "th", "tr", "dt", "dd", "option"})
# The names of <meta> elements that are kept, each with the key that it becomes.
META_KEYS = {
    "author": "author", "description": "description", "keywords": "tags", "date": "date",
    **{key: key for key in HIDING_KEYS},
}  # fmt: skip


def extract(data: bytes) -> Extract:
    """The text of a web page's file, which may begin with front matter."""
    source, decoding_warning = decode(data)
    front = parse_front_matter(source)
    page = parse_html(source[front.body_start :])
    metadata = normalise(page.metadata | front.keys)
    warnings = ((decoding_warning,) if decoding_warning else ()) + front.warnings
    return Extract(page.text, page.title, (), metadata.values, warnings + metadata.warnings)


@dataclass(frozen=True)
class HtmlPage:
    """A page's text, title and metadata."""

    text: str
    title: str
    metadata: dict[str, str]


def parse_html(source: str) -> HtmlPage:
    """The page in HTML `source`, however broken."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    return HtmlPage(reader.finish(), " ".join(reader.title.split()), reader.metadata)


@dataclass
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    row: list[str] | None = None


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.metadata: dict[str, str] = {}
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets
        self._tables: list[_Table] = []
        self._pre = 0
        self._unseen: list[str] = []
        self._in_title = False

    def finish(self) -> str:
        while self._tables:
            self._end_table()
        self._break()
        text = tidy("\n".join(self._blocks))
        return text + "\n" if text else ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "body":
            self._unseen.clear()  # whatever was left open in the head
        if tag == "title" and "svg" not in self._unseen:
            self._in_title = True
        elif tag == "meta" and values.get("name", "").lower() in META_KEYS:
            self.metadata[META_KEYS[values["name"].lower()]] = values.get("content", "")
        if self._is_unseen(tag, values):
            return
        if tag in BLOCK_ELEMENTS:
            self._break()
        self._open(tag, values)

    def _is_unseen(self, tag: str, values: dict[str, str]) -> bool:
        if self._unseen and self._unseen[-1] == tag and tag in CLOSED_BY_NEXT:
            self._unseen.pop()
        style = values.get("style", "").replace(" ", "").lower()
        hidden = "hidden" in values or "display:none" in style or "visibility:hidden" in style
        if tag not in VOID and (self._unseen or tag in UNSEEN or hidden):
            self._unseen.append(tag)
        return bool(self._unseen) or hidden

    def _open(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                self._prefix = "#" * int(tag[1]) + " "
            case "br":
                self._line.append("\n")
            case "img":
                self._line.append(values.get("alt", ""))
            case "ul" | "ol":
                self._lists.append(1 if tag == "ol" else None)
            case "li":
                self._open_item()
            case "pre":
                self._pre += 1
            case "code" if not self._pre:
                self._line.append("`")
            case _:
                self._open_in_table(tag)

    def _open_in_table(self, tag: str) -> None:
        match tag:
            case "table":
                self._tables.append(_Table())
            case "tr" if self._tables:
                self._end_row()
                self._tables[-1].row = []
            case "td" | "th" if self._tables:
                self._end_cell()

    def _open_item(self) -> None:
        number = self._lists[-1] if self._lists else None
        indent = "  " * max(0, len(self._lists) - 1)
        self._prefix = f"{indent}- " if number is None else f"{indent}{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._unseen:
            if tag in self._unseen:
                del self._unseen[len(self._unseen) - 1 - self._unseen[::-1].index(tag) :]
            return
        if tag == "code" and not self._pre:
            self._line.append("`")
        if tag in BLOCK_ELEMENTS and tag not in ("tr", "table"):
            self._break(fenced=tag == "pre" and self._pre > 0)
        self._close(tag)

    def _close(self, tag: str) -> None:
        match tag:
            case "ul" | "ol" if self._lists:
                self._lists.pop()
                if not self._lists:
                    self._blocks.append("")
            case "pre":
                self._pre = max(0, self._pre - 1)
            case "td" | "th" if self._tables:
                self._end_cell()
            case "tr" if self._tables:
                self._end_row()
            case "table" if self._tables:
                self._end_table()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._unseen:
            self._line.append(data if self._pre else re.sub(r"[ \t\r\n\f]+", " ", data))

    def _break(self, *, fenced: bool = False) -> None:
        """Ends the block that is being read; inside a table's cell it is but a line of it."""
        if self._tables and self._tables[-1].row is not None and not fenced:
            self._line.append(" ")
            self._prefix = ""
            return
        text, prefix = "".join(self._line), self._prefix
        self._line, self._prefix = [], ""
        if fenced and text.strip():
            fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
            self._blocks += ["", fence, text.strip("\n"), fence, ""]
            return
        lines = [" ".join(line.split(" ")).strip() for line in text.split("\n")]
        lines = [re.sub(" {2,}", " ", line) for line in lines if line]
        if not lines:
            return
        shown = " ".join(lines) if prefix.startswith("#") else "\n".join(map(escaped, lines))
        self._blocks.append(prefix + shown)
        if not self._lists:
            self._blocks.append("")

    def _end_cell(self) -> None:
        table = self._tables[-1]
        text = "".join(self._line).strip()
        self._line = []
        if table.row is not None and text:
            table.row.append(text)

    def _end_row(self) -> None:
        self._end_cell()
        table = self._tables[-1]
        if table.row:
            table.rows.append(table.row)
        table.row = None

    def _end_table(self) -> None:
        self._end_row()
        rows = self._tables.pop().rows
        if all(len(row) == 1 for row in rows):  # a table for layout alone
            shown = "\n\n".join(" ".join(row[0].split()) for row in rows)
        else:
            shown = table_rows(rows)
        if self._tables:
            self._line.append(shown if len(rows) == 1 else f"\n{shown}\n")
        elif shown:
            self._blocks += ["", shown, ""]
