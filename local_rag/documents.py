"""Bytes to a `Document`: text, title, metadata and lifecycle. Pure; reads no file.

Handles encodings and front matter in every shape people write it. Leaves out formats that are
not text, and how a document is cut into chunks.
"""

from __future__ import annotations

import codecs
import datetime
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import charset_normalizer
import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

from local_rag.structure import first_heading

Lifecycle = Literal["active", "superseded"]
Chunking = Literal["auto", "headings", "whole"]
JsonValue = None | bool | int | float | str | list[Any] | dict[str, Any]

MAX_FRONT_MATTER = 64_000  # characters; more is somebody's data file, not front matter
MAX_VALUES = 500  # values kept of one front matter: an alias bomb has 9**9
MAX_DEPTH = 5
MAX_STRING = 1_000
CONTROL_SHARE = 0.02  # of the characters; text in no language has more, every binary file does


class NotText(ValueError):
    """The bytes are no text in any encoding, or are a binary file."""


@dataclass(frozen=True)
class Document:
    """A parsed document. `text` is the whole file; its body starts at character `body_start`.

    Lines are separated by `\\n` in `text`, so line numbers are those of `grep -n` and editors.
    """

    text: str
    body_start: int = 0
    title: str | None = None
    lifecycle: Lifecycle = "active"
    superseded_by: str = ""
    chunking: Chunking = "auto"
    excluded: bool = False
    tags: tuple[str, ...] = ()
    dated: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class TomlHandler(BaseHandler):
    """TOML front matter between `+++` lines. The library's own handler needs the package `toml`."""

    FM_BOUNDARY = re.compile(r"^\+{3,}\s*$", re.MULTILINE)

    def load(self, fm: str) -> Any:
        """The parsed table. Raises `tomllib.TOMLDecodeError`, a ValueError."""
        return tomllib.loads(fm)


HANDLERS = (YAMLHandler(), TomlHandler(), JSONHandler())


def parse_document(data: bytes, *, markdown: bool = True) -> Document:
    """The document in a file's bytes.

    Raises:
        NotText: the bytes are not text.
    """
    text, decoding = decode(data)
    keys, body_start, problem = split_front_matter(text)
    meta = {str(key): value for key, value in _normalised(keys).items()}
    warnings = [w for w in (decoding, problem) if w]
    title = _scalar(meta.get("title")) or (first_heading(text[body_start:]) if markdown else None)
    return Document(
        text=text,
        body_start=body_start,
        title=title,
        lifecycle=_lifecycle(meta, warnings),
        superseded_by=_scalar(meta.get("superseded_by")) or "",
        chunking=_chunking(meta, warnings),
        excluded=str(meta.get("rag", "")).strip().lower() in {"false", "no", "off", "0"},
        tags=_tags(meta.get("tags")),
        dated=_dated(meta),
        metadata=meta,
        warnings=tuple(warnings),
    )


def decode(data: bytes) -> tuple[str, str | None]:
    """The text in `data`, and a warning where its encoding had to be guessed.

    Raises:
        NotText: no encoding fits, or the text is mostly control characters.
    """
    text, warning = _decode_known(data), None
    if text is None:
        text, warning = _decode_guessed(data)
    sample = text[:200_000]
    control = sum(1 for c in sample if (c < " " and c not in "\t\n\r\f\x1b") or c == "\ufffd")
    if control > max(1, CONTROL_SHARE * len(sample)):
        raise NotText("binary")
    if "\n" not in text:  # a file of the old Mac
        text = text.replace("\r", "\n")
    return text, warning


def _decode_known(data: bytes) -> str | None:
    for bom, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with UTF-16's
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _decode_guessed(data: bytes) -> tuple[str, str]:
    if b"\0" in data:
        raise NotText("binary")
    best = charset_normalizer.from_bytes(data).best()
    if best is None:
        raise NotText("undecodable")
    return str(best), f"encoding guessed: {best.encoding}"


def split_front_matter(text: str) -> tuple[dict[str, Any], int, str | None]:
    """The front matter's keys, where the body starts, and what was wrong with it.

    What does not parse, or is no mapping, is body. The keys that hide a document are obeyed even
    then: a typo elsewhere in the block must not publish what its owner retired.
    """
    lead = len(text) - len(text.lstrip())
    handler = frontmatter.detect_format(text[lead : lead + 200], HANDLERS)
    if handler is None:
        return {}, 0, None
    try:
        block, body = handler.split(text[lead:])
    except ValueError:  # no closing line: a rule, then prose
        return {}, 0, None
    if len(block) > MAX_FRONT_MATTER:
        return {}, 0, f"front matter is over {MAX_FRONT_MATTER} characters: taken as text"
    try:
        keys: Any = handler.load(block)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return _obeyed_keys(block), 0, f"front matter does not parse ({reason}): taken as text"
    if keys is not None and not isinstance(keys, dict):
        return {}, 0, None
    return keys or {}, len(text) - len(body), None


def _obeyed_keys(block: str) -> dict[str, Any]:
    pattern = (
        r"^(rag|lifecycle|superseded_by)[ \t]*[:=][ \t]*[\"']?([^\"'#\n]+?)[\"']?[ \t]*(?:#.*)?$"
    )
    return {match[1]: match[2] for match in re.finditer(pattern, block, re.MULTILINE)}


def _normalised(keys: dict[str, Any]) -> dict[str, JsonValue]:
    left = MAX_VALUES

    def convert(value: Any, depth: int) -> JsonValue:
        nonlocal left
        left -= 1
        if left < 0 or depth > MAX_DEPTH:
            return None
        match value:
            case None | bool() | int():
                return (
                    value if not isinstance(value, int) or abs(value) < 2**63 else str(value)[:40]
                )
            case float():
                return value if math.isfinite(value) else str(value)
            case datetime.date() | datetime.time():
                return value.isoformat()
            case dict():
                pairs = list(value.items())[: max(left, 0)]
                return {_text(k): convert(v, depth + 1) for k, v in pairs}
            case list() | tuple() | set():
                return [convert(v, depth + 1) for v in list(value)[: max(left, 0)]]
        return _text(value)

    return {_text(key): convert(value, 1) for key, value in list(keys.items())[:MAX_VALUES]}


def _text(value: object) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else None
    if text is None:
        text = (
            str(value) if isinstance(value, int | float | datetime.date) else type(value).__name__
        )
    # YAML escapes can spell a lone surrogate, which no encoder takes.
    return text[:MAX_STRING].encode("utf-8", "replace").decode("utf-8")


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


def _lifecycle(meta: dict[str, JsonValue], warnings: list[str]) -> Lifecycle:
    value = (_scalar(meta.get("lifecycle")) or "active").lower()
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
