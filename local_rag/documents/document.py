"""From bytes to a `Document`: text, title, metadata and lifecycle. Pure; reads no file."""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from local_rag.documents.formats.extract import Extract
from local_rag.documents.formats.registry import MARKDOWN, Format, Syntax
from local_rag.documents.front_matter import (
    LEFT_OUT,
    JsonValue,
    declared_keys,
    normalised,
    split_front_matter,
)
from local_rag.documents.markup import Block, blocks, document_title
from local_rag.text.encoding import decode

Lifecycle = Literal["active", "superseded"]
Chunking = Literal["auto", "headings", "whole"]
STRAY = " \t.,;\"'“”‘’"  # stray characters around a value
SAYS_YES = frozenset({"true", "yes", "on", "1", "y", "t"})


@dataclass(frozen=True)
class Document:
    """A parsed document. `text` is the whole file; its body starts at character `body_start`.

    Lines are separated by `\\n` in `text`, so line numbers are those of `grep -n` and editors.
    `pages` says at which character each page, slide, cell or chapter begins.
    """

    text: str
    body_start: int = 0
    title: str | None = None
    lifecycle: Lifecycle = "active"
    superseded_by: str = ""
    chunking: Chunking = "auto"
    excluded: bool = False
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    dated: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    syntax: Syntax = "markdown"
    pages: tuple[tuple[int, str], ...] = ()
    parsed: tuple[Block, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of the body, at their offsets in `text`; parsed once, with the document."""
        if self.parsed is not None:
            return self.parsed
        return blocks(self.text, self.syntax, self.body_start)


def parse_document(data: bytes, kind: Format = MARKDOWN) -> Document:
    """The document in the bytes of a file whose bytes are its text.

    Raises:
        NotText: the bytes are not text.
    """
    text, decoding = decode(data)
    keys, body_start, odd = split_front_matter(text) if kind.front_matter else ({}, 0, [])
    warnings = [*([decoding] if decoding else []), *odd]
    keys = declared_keys(text, kind.syntax) | keys
    parsed = blocks(text, kind.syntax, body_start)
    title = document_title(text[body_start:], kind.syntax, parsed) if kind.titled else None
    document = Document(text, body_start, title, syntax=kind.syntax, parsed=parsed)
    return _document(document, keys, warnings)


def document_if_readable(data: bytes, kind: Format = MARKDOWN) -> Document | None:
    """The document, or None if it cannot be read for whatever reason.

    For looks at many files in passing: loading a file says what is wrong with it.
    """
    try:
        return parse_document(data, kind)
    except Exception:  # noqa: BLE001 - once per file: one odd file costs itself alone
        return None


def document_from_extract(extract: Extract, kind: Format) -> Document:
    """The document that a converter found in a file."""
    parsed = blocks(extract.text, kind.syntax)
    title = extract.title or document_title(extract.text, kind.syntax, parsed)
    document = Document(
        extract.text, 0, title, syntax=kind.syntax, pages=extract.pages, parsed=parsed
    )
    return _document(document, extract.metadata, list(extract.warnings))


def hiding_is_undecided(metadata: Mapping[str, JsonValue]) -> bool:
    """Whether `rag` or `lifecycle` has a value that means nothing."""
    meta = {key.strip().lower(): value for key, value in metadata.items()}
    lifecycle = _word(meta.get("lifecycle")) or "active"
    if lifecycle not in ("active", "superseded"):
        return True
    return "rag" in meta and _word(meta["rag"]) not in LEFT_OUT | SAYS_YES


def label_at(document: Document, offset: int) -> str:
    """The page, slide, cell or chapter of a character; empty if there is none."""
    index = bisect.bisect_right(document.pages, offset, key=lambda page: page[0])
    return document.pages[index - 1][1] if index else ""


def _document(document: Document, keys: dict[str, Any], warnings: list[str]) -> Document:
    """The document with what its metadata say, and warnings about what is odd."""
    metadata, cut = normalised(keys)
    warnings += cut
    meta = {key.strip().lower(): value for key, value in metadata.items()}
    return replace(
        document,
        title=_scalar(meta.get("title")) or document.title,
        lifecycle=_lifecycle(meta, warnings),
        superseded_by=_scalar(meta.get("superseded_by")) or "",
        chunking=_chunking(meta, warnings),
        excluded=_excluded(meta, warnings),
        tags=_tags(meta.get("tags")),
        aliases=_aliases(meta.get("aliases") or meta.get("alias")),
        dated=_dated(meta),
        metadata=metadata,
        warnings=tuple(warnings),
    )


def _scalar(value: JsonValue) -> str | None:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split()) or None
    return None


def _dated(meta: dict[str, JsonValue]) -> str | None:
    dates = (_date(meta.get(key)) for key in ("updated", "modified", "lastmod", "date"))
    return next((date for date in dates if date), None)


def _date(value: JsonValue) -> str | None:
    if isinstance(value, str):
        try:
            return datetime.datetime.fromisoformat(value.strip()).isoformat()
        except ValueError:
            return None
    return None


def _tags(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str):
        value = list(value.split("," if "," in value else None))
    if not isinstance(value, list):
        value = [value]
    names = (_scalar(tag) for tag in value)
    return tuple(dict.fromkeys(name.lstrip("#").strip() for name in names if name and name != "#"))


def _aliases(value: JsonValue) -> tuple[str, ...]:
    """Other names of a note, as in Obsidian: a list, or names separated by commas."""
    values = value.split(",") if isinstance(value, str) else value
    names = map(_scalar, values if isinstance(values, list) else [values])
    return tuple(dict.fromkeys(name for name in names if name))


def _word(value: JsonValue) -> str:
    """A key's value as one lower-case word, even from a list of one or stray quotes."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else " ".join(str(value).split()).strip(STRAY).lower()


def _excluded(meta: dict[str, JsonValue], warnings: list[str]) -> bool:
    if "rag" not in meta:
        return False
    value = _word(meta["rag"])
    if value in LEFT_OUT:
        return True
    if value not in SAYS_YES:
        warnings.append(f"rag {value[:40]!r} is unknown (false leaves a document out): indexed")
    return False


def _lifecycle(meta: dict[str, JsonValue], warnings: list[str]) -> Lifecycle:
    value = _word(meta.get("lifecycle")) or "active"
    if value == "superseded":
        return "superseded"
    if value != "active":
        warnings.append(
            f"lifecycle {value[:40]!r} is unknown (active, superseded): taken as active"
        )
    elif meta.get("superseded_by"):
        warnings.append("superseded_by is set, but not lifecycle: superseded; taken as active")
    return "active"


def _chunking(meta: dict[str, JsonValue], warnings: list[str]) -> Chunking:
    value = (_scalar(meta.get("rag_chunk")) or "auto").lower()
    if value == "headings":
        return "headings"
    if value == "whole":
        return "whole"
    if value != "auto":
        warnings.append(
            f"rag_chunk {value[:40]!r} is unknown (headings, whole): chosen automatically"
        )
    return "auto"
