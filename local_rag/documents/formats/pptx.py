"""PPTX to Markdown: titles, text, tables and speaker's notes, labelled by slide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.documents.formats.extract import Extract, Pages, Unconvertible, escaped, table_rows
from local_rag.documents.formats.zip_xml import Archive, attribute, core_properties, local

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAIN = "ppt/presentation.xml"
# On every slide alike, or filled in by the program.
FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})


def extract(data: bytes) -> Extract:
    """The text of a presentation, slide by slide as it is shown."""
    archive = Archive(data)
    root = archive.xml(MAIN)
    if root is None:
        raise Unconvertible("not a PowerPoint presentation")
    parts = archive.related(MAIN)
    pages = Pages()
    for number, item in enumerate(root.iterfind("{*}sldIdLst/{*}sldId"), 1):
        # `id` is there twice: the slide's own number, and in a namespace the relation's name.
        names = [value for key, value in item.attrib.items() if key.endswith("}id")]
        target = parts.get(names[0], ("", ""))[0] if names else ""
        pages.add(f"slide {number}", "\n".join(_slide(archive, target)))
    title, metadata = core_properties(archive, "docProps/core.xml")
    return pages.extract("" if title == "PowerPoint Presentation" else title, dict(metadata))


def _slide(archive: Archive, name: str) -> Iterator[str]:
    root = archive.xml(name)
    if root is None:
        return
    yield from _shapes(root)
    for target, kind in archive.related(name).values():
        notes = archive.xml(target) if kind == "notesSlide" else None
        spoken = list(_shapes(notes)) if notes is not None else []
        if spoken:
            yield "\nNotes:\n"
            yield from spoken


def _shapes(parent: Element) -> Iterator[str]:
    for item in parent:
        match local(item):
            case "sp":
                yield from _shape(item)
            case "tbl":
                yield "\n" + table_rows(_rows(item)) + "\n"
            case "Fallback":
                continue
            case _:
                yield from _shapes(item)


def _shape(item: Element) -> Iterator[str]:
    place = item.find("{*}nvSpPr/{*}nvPr/{*}ph")
    kind = attribute(place, "type")
    if kind in FURNITURE:
        return
    paragraphs = list(item.iterfind("{*}txBody/{*}p"))
    if kind in ("title", "ctrTitle"):
        title = " ".join(" ".join(_text(p) for p in paragraphs).split())
        if title:
            yield f"\n## {title}\n"
        return
    for paragraph in paragraphs:
        level = attribute(paragraph.find("{*}pPr"), "lvl")
        text = _text(paragraph).strip()
        if text and place is not None:
            yield "  " * (int(level) if level.isdigit() else 0) + f"- {text}"
        elif text:
            yield "\n" + escaped(text)
    yield ""


def _text(item: Element) -> str:
    return "".join(
        "\n" if local(part) == "br" else part.text or ""
        for part in item.iter()
        if local(part) in ("t", "br")
    )


def _rows(table: Element) -> list[list[str]]:
    return [
        [" ".join(_text(p) for p in cell.iterfind("{*}txBody/{*}p"))
         for cell in row.iterfind("{*}tc")]
        for row in table.iterfind("{*}tr")
    ]  # fmt: skip
