"""DOCX to Markdown: headings, lists, tables and footnotes, without deleted text and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.documents.formats.extract import Extract, Unconvertible, escaped, table_rows, tidy
from local_rag.documents.formats.zip_xml import Archive, attribute, core_properties, local

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAIN = "word/document.xml"
# Deleted or moved text, field codes, and the second copy of a drawing for old programs.
UNSEEN = frozenset({"del", "moveFrom", "instrText", "Fallback", "delText", "rPr", "pPr"})
BLANKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def extract(data: bytes) -> Extract:
    """The text of a Word document."""
    archive = Archive(data)
    root = archive.xml(MAIN)
    body = root.find("{*}body") if root is not None else None
    if body is None:
        raise Unconvertible("not a Word document")
    levels = _heading_levels(archive.xml("word/styles.xml"))
    blocks = [*_blocks(body, levels), *_notes(archive)]
    title, metadata = core_properties(archive, "docProps/core.xml")
    text = tidy("\n".join(blocks))
    return Extract(text + "\n" if text else "", title, (), dict(metadata))


def _heading_levels(styles: Element | None) -> dict[str, int]:
    """Which styles are headings, by their names, which are English in any language."""
    levels = {}
    for style in styles.iter() if styles is not None else ():
        if local(style) != "style":
            continue
        name = attribute(style.find("{*}name"), "val").lower()
        outline = attribute(style.find("{*}pPr/{*}outlineLvl"), "val")
        match = re.fullmatch(r"heading ([1-9])", name)
        if match or name == "title":
            levels[attribute(style, "styleId")] = min(6, int(match[1])) if match else 1
        elif outline.isdigit() and int(outline) < 9:
            levels[attribute(style, "styleId")] = min(6, int(outline) + 1)
    return levels


def _blocks(parent: Element, levels: dict[str, int]) -> Iterator[str]:
    for item in parent:
        match local(item):
            case "p":
                yield from _paragraph(item, levels)
            case "tbl":
                yield "\n" + table_rows(list(_rows(item))) + "\n"
            case "sdt" | "sdtContent" | "ins" | "customXml" | "moveTo":
                yield from _blocks(item, levels)


def _paragraph(item: Element, levels: dict[str, int]) -> Iterator[str]:
    text = "".join(_text(item)).strip()
    if not text:
        return
    properties = item.find("{*}pPr")
    style = attribute(properties.find("{*}pStyle") if properties is not None else None, "val")
    list_of = properties.find("{*}numPr") if properties is not None else None
    if style in levels:
        yield "\n" + "#" * levels[style] + " " + " ".join(text.split()) + "\n"
    elif list_of is not None or style.startswith("List"):
        depth = attribute(list_of.find("{*}ilvl") if list_of is not None else None, "val")
        indent = "  " * min(8, int(depth) if depth.isdigit() else 0)
        yield f"{indent}- {text}"
    else:
        yield "\n" + "\n".join(escaped(line) for line in text.split("\n")) + "\n"


def _text(item: Element) -> Iterator[str]:
    name = local(item)
    if name in UNSEEN:
        return
    if name == "t":
        yield item.text or ""
    elif name in ("footnoteReference", "endnoteReference"):
        yield f"[^{name[0]}{attribute(item, 'id')}]"
    elif name in BLANKS:
        yield BLANKS[name]
    else:
        for child in item:
            yield from _text(child)
        if name == "p":  # of a text box inside a paragraph
            yield "\n"


def _rows(table: Element) -> Iterator[list[str]]:
    for row in table.iterfind("{*}tr"):
        yield [" ".join("".join(_text(cell)).split()) for cell in row.iterfind("{*}tc")]


def _notes(archive: Archive) -> Iterator[str]:
    for kind in ("footnote", "endnote"):
        root = archive.xml(f"word/{kind}s.xml")
        for note in root if root is not None else ():
            text = " ".join("".join(_text(note)).split())
            if text and not attribute(note, "type"):  # the others draw the line above the notes
                yield f"\n[^{kind[0]}{attribute(note, 'id')}]: {text}"
