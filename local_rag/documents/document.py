"""Bytes to a `Document`: text, title, metadata and lifecycle. Pure; reads no file."""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from local_rag.documents.formats.extract import Extract
from local_rag.documents.formats.registry import MARKDOWN, Format, Syntax
from local_rag.documents.front_matter import FrontMatter, declared_keys, parse_front_matter
from local_rag.documents.markup import Block, blocks, document_title
from local_rag.documents.metadata import FALSE_WORDS, TRUE_WORDS, JsonValue, normalise
from local_rag.text.encoding import decode

Lifecycle = Literal["active", "superseded"]
Chunking = Literal["auto", "headings", "whole"]
# Characters kept of what is stored or shown again and again: a title of 80 KB went to each of 700
# chunks. A heading has its own limit, in `markup`.
LONGEST_TITLE = 500
LONGEST_TAG = 100
LONGEST_ALIAS = 200
LONGEST_LABEL = 100
STRAY = " \t.,;\"'“”‘’"  # put around a value by an editor or in haste


@dataclass(frozen=True)
class Document:
    """A parsed document. `text` is the whole file; its body starts at character `body_start`.

    Lines in `text` end with `\\n`, so that line numbers are those of `grep -n` and of editors.
    `pages` gives the character at which each page, slide, cell or chapter starts, and its label.
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
    """The document in the bytes of a text file.

    Raises:
        NotText: the bytes are not text.
    """
    text, decoding_warning = decode(data)
    front = parse_front_matter(text) if kind.front_matter else FrontMatter()
    start = front.body_start
    parsed = blocks(text, kind.syntax, start)
    document = Document(
        text,
        start,
        document_title(text[start:], kind.syntax, parsed) if kind.titled else None,
        warnings=((decoding_warning,) if decoding_warning else ()) + front.warnings,
        syntax=kind.syntax,
        parsed=parsed,
    )
    return _with_metadata(document, declared_keys(text, kind.syntax) | front.keys)


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
    document = Document(
        extract.text,
        title=extract.title or document_title(extract.text, kind.syntax, parsed),
        warnings=extract.warnings,
        syntax=kind.syntax,
        pages=tuple((offset, label[:LONGEST_LABEL]) for offset, label in extract.pages),
        parsed=parsed,
    )
    return _with_metadata(document, extract.metadata)


def hiding_is_undecided(metadata: Mapping[str, JsonValue]) -> bool:
    """Whether `rag` or `lifecycle` has a value that means nothing."""
    meta = {key.strip().lower(): value for key, value in metadata.items()}
    lifecycle = _word(meta.get("lifecycle")) or "active"
    if lifecycle not in ("active", "superseded"):
        return True
    return "rag" in meta and _word(meta["rag"]) not in FALSE_WORDS | TRUE_WORDS


def label_at(document: Document, offset: int) -> str:
    """The label of the page, slide, cell or chapter that a character is on; empty if none."""
    index = bisect.bisect_right(document.pages, offset, key=lambda page: page[0])
    return document.pages[index - 1][1] if index else ""


def _with_metadata(document: Document, keys: dict[str, Any]) -> Document:
    """The document with what its keys say of it, and warnings about values that say nothing."""
    metadata = normalise(keys)
    meta = {key.strip().lower(): value for key, value in metadata.values.items()}
    return replace(
        document,
        title=(_scalar(meta.get("title")) or document.title or "")[:LONGEST_TITLE] or None,
        lifecycle="superseded" if _word(meta.get("lifecycle")) == "superseded" else "active",
        superseded_by=_scalar(meta.get("superseded_by")) or "",
        chunking=_chunking(meta),
        excluded=_word(meta.get("rag")) in FALSE_WORDS,
        tags=_tags(meta.get("tags")),
        aliases=_aliases(meta.get("aliases") or meta.get("alias")),
        dated=_dated(meta),
        metadata=metadata.values,
        warnings=(*document.warnings, *metadata.warnings, *_misunderstood(meta)),
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
    names = (name.lstrip("#").strip() for tag in value if (name := _scalar(tag)) and name != "#")
    return tuple(dict.fromkeys(name[:LONGEST_TAG] for name in names))


def _aliases(value: JsonValue) -> tuple[str, ...]:
    """Other names of a note, as in Obsidian: a list, or names separated by commas."""
    values = value.split(",") if isinstance(value, str) else value
    names = map(_scalar, values if isinstance(values, list) else [values])
    return tuple(dict.fromkeys(name[:LONGEST_ALIAS] for name in names if name))


def _word(value: JsonValue) -> str:
    """A value as one lower-case word, even if it is in a list of one or has stray quotes."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else " ".join(str(value).split()).strip(STRAY).lower()


def _chunking(meta: dict[str, JsonValue]) -> Chunking:
    match (_scalar(meta.get("rag_chunk")) or "auto").lower():
        case "headings":
            return "headings"
        case "whole":
            return "whole"
    return "auto"


def _misunderstood(meta: dict[str, JsonValue]) -> Iterator[str]:
    """A warning for each key whose value means nothing here."""
    lifecycle = _word(meta.get("lifecycle")) or "active"
    if lifecycle not in ("active", "superseded"):
        shown = repr(lifecycle[:40])
        yield f"lifecycle {shown} is unknown (use active or superseded): treated as active"
    elif lifecycle == "active" and meta.get("superseded_by"):
        yield "superseded_by is set without lifecycle: superseded; treated as active"
    chunking = (_scalar(meta.get("rag_chunk")) or "auto").lower()
    if chunking not in ("auto", "headings", "whole"):
        yield f"rag_chunk {chunking[:40]!r} is unknown (use headings or whole): treated as auto"
    rag = _word(meta.get("rag"))
    if "rag" in meta and rag not in FALSE_WORDS | TRUE_WORDS:
        yield f"rag {rag[:40]!r} is unknown (use false to exclude a document): indexed"
