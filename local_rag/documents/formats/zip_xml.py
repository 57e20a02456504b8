"""Zip archives and the XML in them, read within limits: the bytes come from strangers."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.documents.formats.extract import Unconvertible
from local_rag.documents.metadata import HIDING_KEYS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

INFLATED = 50_000_000  # bytes read from one archive; a bomb of 40 KB holds 4 GB
MOST_PARTS = 10_000


class Archive:
    """An archive whose parts are read one by one, within `INFLATED` bytes in all."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Unconvertible("not a zip archive: damaged or encrypted") from error
        self.names = frozenset(self._zip.namelist())
        if len(self.names) > MOST_PARTS:
            raise Unconvertible(f"has more than {MOST_PARTS} parts")
        self._left = INFLATED

    def read(self, name: str) -> bytes:
        """A part's bytes; empty where there is none of this name."""
        if name not in self.names:
            return b""
        if self._zip.getinfo(name).file_size > self._left:
            raise self._bomb()
        try:
            with self._zip.open(name) as part:
                data = part.read(self._left + 1)  # what it declares may be a lie
        except (
            zipfile.BadZipFile,
            zlib.error,
            RuntimeError,
            NotImplementedError,
            EOFError,
        ) as error:
            raise Unconvertible("damaged or encrypted inside") from error
        self._left -= len(data)
        if self._left < 0:
            raise self._bomb()
        return data

    def xml(self, name: str) -> Element | None:
        """A part's XML, without entities of its own; None where there is no such part."""
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring

        data = self.read(name)
        if not data:
            return None
        try:
            root: Element = fromstring(data)
        except DefusedXmlException as error:
            raise Unconvertible("declares XML entities, as an attack does") from error
        except (ParseError, ValueError, LookupError) as error:
            raise Unconvertible(f"{name} is no well-formed XML") from error
        return root

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """By id, the parts that an OOXML part refers to, each with the kind of relation."""
        folder, base = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{base}.rels")
        found = {}
        for item in root if root is not None else ():
            target = posixpath.normpath(posixpath.join(folder, item.get("Target", "")))
            kind = item.get("Type", "").rpartition("/")[2]
            found[item.get("Id", "")] = (target.lstrip("/"), kind)
        return found

    def _bomb(self) -> Unconvertible:
        return Unconvertible(f"inflates to more than {INFLATED // 1_000_000} MB")


def local(element: Element) -> str:
    """An element's name without its namespace; empty for comments and the like."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element | None, name: str) -> str:
    """An attribute's value by its name without a namespace; empty where there is none."""
    if element is None:
        return ""
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def _custom(archive: Archive, root: Element | None) -> Iterator[tuple[str, str]]:
    """The properties that an author adds; Office keeps them in a file of their own."""
    office = archive.xml("docProps/custom.xml")
    for item in office if office is not None else ():
        yield attribute(item, "name").lower(), "".join(item.itertext()).strip()
    for item in root.iter() if root is not None else ():
        if local(item) == "user-defined":
            yield attribute(item, "name").lower(), (item.text or "").strip()


def core_properties(archive: Archive, name: str) -> tuple[str, dict[str, str]]:
    """Title and metadata of an Office document or an OpenDocument."""
    root = archive.xml(name)
    values = {
        local(item): " ".join((item.text or "").split())
        for item in (root.iter() if root is not None else ())
    }
    custom = {key: value for key, value in _custom(archive, root) if key in HIDING_KEYS}
    wanted = custom | {
        "author": values.get("creator") or values.get("initial-creator"),
        "created": values.get("created") or values.get("creation-date"),
        "updated": values.get("modified") or values.get("date"),
        "tags": values.get("keywords") or values.get("keyword"),
    }
    return values.get("title", ""), {key: value for key, value in wanted.items() if value}
