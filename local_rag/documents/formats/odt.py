"""ODT to Markdown: headings, lists, tables and notes, without deleted text and comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.documents.formats.extract import Extract, Unconvertible, escaped, table_rows, tidy
from local_rag.documents.formats.zip_xml import Archive, attribute, core_properties, local

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

UNSEEN = frozenset({"tracked-changes", "annotation", "annotation-end", "sequence-decls"})


def extract(data: bytes) -> Extract:
    """The text of an OpenDocument text."""
    archive = Archive(data)
    root = archive.xml("content.xml")
    body = root.find("{*}body/{*}text") if root is not None else None
    if body is None:
        raise Unconvertible("not an OpenDocument text")
    title, metadata = core_properties(archive, "meta.xml")
    text = tidy("\n".join(_blocks(body, 0)))
    return Extract(text + "\n" if text else "", title, (), dict(metadata))


def _blocks(parent: Element, depth: int) -> Iterator[str]:
    for item in parent:
        match local(item):
            case "h":
                level = attribute(item, "outline-level")
                text = " ".join(_text(item).split())
                if text:
                    yield f"\n{'#' * min(6, int(level) if level.isdigit() else 1)} {text}\n"
            case "p":
                yield from _paragraph(item, depth)
            case "list":
                yield from _blocks(item, depth + 1)
            case "table":
                yield "\n" + table_rows(list(_rows(item))) + "\n"
            case name if name not in UNSEEN:
                yield from _blocks(item, depth)


def _paragraph(item: Element, depth: int) -> Iterator[str]:
    text = _text(item).strip()
    if text and depth:
        yield "  " * (depth - 1) + "- " + text
    elif text:
        yield "\n" + "\n".join(escaped(line) for line in text.split("\n")) + "\n"
    for box in item.iter():
        if local(box) == "text-box":
            yield from _blocks(box, depth)


def _text(item: Element) -> str:
    parts = [item.text or ""]
    for child in item:
        match local(child):
            case "s":
                count = attribute(child, "c")
                parts.append(" " * min(100, int(count) if count.isdigit() else 1))
            case "tab":
                parts.append("\t")
            case "line-break":
                parts.append("\n")
            case "note":
                body = child.find("{*}note-body")
                inside = " ".join(_text(p) for p in body) if body is not None else ""
                parts.append(f" ({' '.join(inside.split())})")
            case name if name not in UNSEEN and name != "frame":
                parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _rows(table: Element) -> Iterator[list[str]]:
    for row in table.iter():
        if local(row) == "table-row":
            cells = (cell for cell in row if local(cell) == "table-cell")
            yield [" ".join(_text(p) for p in cell) for cell in cells]
