"""EPUB to Markdown, chapter by chapter in reading order."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from local_rag.documents.formats.extract import Extract, Pages, Unconvertible
from local_rag.documents.formats.html import parse_html
from local_rag.documents.formats.zip_xml import Archive, attribute, local
from local_rag.documents.metadata import HIDING_KEYS
from local_rag.text.encoding import decode

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PAGES = ("application/xhtml+xml", "text/html")


def extract(data: bytes) -> Extract:
    """The text of an e-book that is not protected."""
    archive = Archive(data)
    container = archive.xml("META-INF/container.xml")
    files = container.iterfind(".//{*}rootfile") if container is not None else iter(())
    name = attribute(next(files, None), "full-path")
    package = archive.xml(name) if name else None
    if package is None:
        raise Unconvertible("not an EPUB")
    pages, number = Pages(), 0
    for part in _spine(package, posixpath.dirname(name)):
        page = parse_html(decode(archive.read(part))[0]) if part in archive.names else None
        if page and page.text:
            number += 1
            pages.add(f"chapter {number}", page.text)
    values = {local(item): (item.text or "").strip() for item in package.iterfind("{*}metadata/*")}
    said = {
        attribute(item, "name").lower(): attribute(item, "content")
        for item in package.iterfind("{*}metadata/{*}meta")
    }
    hiding = {key: said.get(key) for key in HIDING_KEYS}
    wanted = {"author": values.get("creator"), "date": values.get("date")} | hiding
    return pages.extract(values.get("title", ""), {k: v for k, v in wanted.items() if v})


def _spine(package: Element, folder: str) -> list[str]:
    """The parts in reading order."""
    items = {
        attribute(item, "id"): posixpath.normpath(
            posixpath.join(folder, unquote(attribute(item, "href")))
        )
        for item in package.iterfind("{*}manifest/{*}item")
        if attribute(item, "media-type") in PAGES and attribute(item, "properties") != "nav"
    }
    order = [attribute(item, "idref") for item in package.iterfind("{*}spine/{*}itemref")]
    return [items[id_] for id_ in order if id_ in items]
