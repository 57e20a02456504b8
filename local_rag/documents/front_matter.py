"""Front matter in every shape people write it: YAML, TOML or JSON, well-formed or not.

Values become JSON types, capped in depth, number and size.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Collection
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

from local_rag.documents.formats.registry import Syntax

JsonValue = None | bool | int | float | str | list[Any] | dict[str, Any]
MAX_FRONT_MATTER = 64_000  # characters; more is a data file, not front matter
MAX_VALUES = 500  # values kept per document: an alias bomb has 9**9
MAX_DEPTH = 5
MAX_STRING = 1_000
CUT_MARK = (
    f"front matter was cut (kept are {MAX_VALUES} values, {MAX_DEPTH} levels deep, "
    f"{MAX_STRING} characters each)"
)
HIDING = frozenset({"rag", "lifecycle", "superseded_by"})


class YamlHandler(YAMLHandler):
    """YAML front matter from a line of dashes to the next one, or to Pandoc's three dots."""

    END = re.compile(r"^(?:-{3,}|\.{3})\s*$", re.MULTILINE)

    def split(self, text: str) -> tuple[str, str]:
        """The block and the body. Raises ValueError if nothing closes the block."""
        start = self.FM_BOUNDARY.match(text)
        end = self.END.search(text, start.end()) if start else None
        if start is None or end is None:
            raise ValueError("not closed")
        return text[start.end() : end.start()], text[end.end() :]


class TomlHandler(BaseHandler):
    """TOML front matter between `+++` lines. The library's own handler needs the package `toml`."""

    FM_BOUNDARY = re.compile(r"^\+{3,}\s*$", re.MULTILINE)

    def load(self, fm: str) -> Any:
        """The parsed table. Raises `tomllib.TOMLDecodeError`, a ValueError."""
        return tomllib.loads(fm)


class JsonHandler(JSONHandler):
    """JSON front matter from a line `{` to a line `}`. The library's own takes each for both."""

    START = re.compile(r"\{$", re.MULTILINE)
    END = re.compile(r"^\}$", re.MULTILINE)

    def detect(self, text: str) -> bool:
        """Whether a text may begin with JSON front matter."""
        return bool(self.START.match(text))

    def split(self, text: str) -> tuple[str, str]:
        """The block and the body. Raises ValueError if nothing closes the block."""
        end = self.END.search(text)
        if end is None:
            raise ValueError("not closed")
        return text[: end.end()], text[end.end() :]


HANDLERS = (YamlHandler(), TomlHandler(), JsonHandler())
# libyaml takes ten seconds for 30,000 brackets.
TOO_DEEP = re.compile(r"(?:[\[{]\s*){50}")
TOP_KEY = re.compile(r"(?m)^([^\s#\-\[\]{}|>][^:=\n]{0,200}?)[ \t]*:(?=\s|$)")
# The value is parsed by hand: one expression for the whole line took 22 s for 1,000 blanks.
HIDING_LINE = re.compile(r"(?im)^[ \t]*\"?(rag|lifecycle|superseded_by)\"?[ \t]*[:=]([^\r\n]*)")
QUOTE_OR_COMMA = re.compile("[\"',]")
LEFT_OUT = frozenset({"false", "no", "off", "0", "never", "none", "n", "f"})
PROSE = 4  # words of a key: more are a sentence with a colon in it, under a rule


# PyYAML's constructors raise whatever their code trips over: `!!int ""` an IndexError, `!!bool x` a
# KeyError, `!!timestamp x` an AttributeError.
UNREADABLE = (
    yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, LookupError,
    AttributeError,
)  # fmt: skip


def split_front_matter(text: str) -> tuple[dict[str, Any], int, list[str]]:
    """The front matter's keys, where the body starts, and what was wrong with it.

    What does not parse, or is not a mapping, is body. Keys that hide the document are obeyed even
    then: a typo elsewhere in the block must not publish what its owner retired.
    """
    lead = len(text) - len(text.lstrip())
    handler = frontmatter.detect_format(text[lead : lead + 200], HANDLERS)
    if handler is None:
        return {}, 0, []
    try:
        block, body = handler.split(text[lead:])
    except ValueError:  # no closing line: a rule, then prose, or keys that run into the prose
        start = re.split(r"\n[ \t]*\r?\n", text[lead : lead + MAX_FRONT_MATTER], maxsplit=1)[0]
        hidden = _obeyed_keys(start)
        return hidden, 0, ["front matter is not closed: taken as text"] if hidden else []
    if len(block) > MAX_FRONT_MATTER:
        problem = f"front matter is over {MAX_FRONT_MATTER} characters: taken as text"
        return _obeyed_keys(block), 0, [problem]
    try:
        keys = _load(handler, block)
    except UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return _obeyed_keys(block), 0, [f"front matter does not parse ({reason}): taken as text"]
    if keys is None:
        hidden = _obeyed_keys(block)
        return hidden, 0, ["front matter is no mapping: taken as text"] if hidden else []
    first_line = text.count("\n", 0, text.index(block, lead)) + 1
    twice = _repeated_keys(block, first_line) if handler is HANDLERS[0] else []
    if any(key == "rag" for key, _ in twice) and _says_no(block):
        keys = {key: value for key, value in keys.items() if str(key).lower() != "rag"} | {
            "rag": False
        }
    return keys, len(text) - len(body), [
        f"line {line} repeats the key {key[:40]!r}: {'a no' if key == 'rag' else 'the last'} counts"
        for key, line in twice
    ]  # fmt: skip


def _load(handler: BaseHandler, block: str) -> dict[str, Any] | None:
    """The mapping in a block; None if it is prose between two rules."""
    if TOO_DEEP.search(block):
        raise ValueError("nested too deep")
    keys: Any = handler.load(block)
    if keys is None:
        return {}
    if not isinstance(keys, dict) or any(len(str(key)[:200].split()) > PROSE for key in keys):
        return None
    return keys


def _repeated_keys(block: str, first_line: int) -> list[tuple[str, int]]:
    """Each top-level key of YAML that was there before, in lower case, and its line in the file."""
    seen: set[str] = set()
    repeated = []
    for match in TOP_KEY.finditer(block):
        key = match[1].strip("\"' \t").lower()
        if key in seen:
            repeated.append((key, first_line + block.count("\n", 0, match.start(1))))
        seen.add(key)
    return repeated


def _says_no(block: str) -> bool:
    """Whether any of several `rag` keys excludes the document: private stays private."""
    values = re.findall(r"(?im)^[\"']?rag[\"']?[ \t]*[:=][ \t]*[\"']?(\w+)", block)
    return any(value.lower() in LEFT_OUT for value in values)


def _obeyed_keys(block: str) -> dict[str, Any]:
    """The keys that hide a document, in a block that cannot be read as a whole."""
    found = {}
    for match in HIDING_LINE.finditer(block):
        value = match[2].partition("#")[0].strip().removesuffix(",").strip().strip("\"'").strip()
        if value and not QUOTE_OR_COMMA.search(value):
            found[match[1].lower()] = value
    return found


def normalised(keys: dict[str, Any]) -> tuple[dict[str, JsonValue], list[str]]:
    """The keys with values of JSON's types alone, as many as the caps let through, and a warning
    if that was not all.

    What hides a document is taken first, then what is a single value: 600 tags above it must not
    publish what its owner retired, nor cost the title.
    """
    capped = _Capped()
    kept = sorted(keys.items(), key=_rank)
    values = {_text(key): capped.value(value, 1) for key, value in kept[:MAX_VALUES]}
    return values, [CUT_MARK] if capped.cut or len(kept) > MAX_VALUES else []


def _rank(item: tuple[Any, Any]) -> int:
    hides = _text(item[0]).strip().lower() in HIDING
    return 0 if hides else 2 if isinstance(item[1], dict | list | tuple | set) else 1


class _Capped:
    """Converts values to JSON types up to a limit; `cut` says that some were dropped."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self.cut = False

    def value(self, value: Any, depth: int) -> JsonValue:
        """The value, or None if there are too many or it is too deep."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            self.cut = True
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
                pairs = self._first(value.items())
                return {_text(k): self.value(v, depth + 1) for k, v in pairs}
            case list() | tuple() | set():
                return [self.value(v, depth + 1) for v in self._first(value)]
        self.cut |= isinstance(value, str | bytes) and len(value) > MAX_STRING
        return _text(value)

    def _first(self, values: Collection[Any]) -> list[Any]:
        """As many of a collection as may still be kept."""
        self.cut |= len(values) > max(self._left, 0)
        return list(values)[: max(self._left, 0)]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else None
    if text is None:
        text = (
            str(value) if isinstance(value, int | float | datetime.date) else type(value).__name__
        )
    # YAML escapes can spell a lone surrogate, which no encoder takes.
    return text[:MAX_STRING].encode("utf-8", "replace").decode("utf-8")


_KEYS = r"(rag|lifecycle|superseded_by)"
KEYWORD = re.compile(rf"(?im)^[ \t]*#\+{_KEYS}:[ \t]*(\S.*)$")
FIELD = re.compile(rf"(?im)^:{_KEYS}:[ \t]*(\S.*)$")
DRAWER = re.compile(rf"(?im)^[ \t]*:{_KEYS}:[ \t]+(\S.*)$")
UNSET = re.compile(r"(?im)^:(?:!rag|rag!):[ \t]*$")
META_LINE = re.compile(rf"(?im)^[ \t]+:{_KEYS}:[ \t]*(\S.*)$")
HEAD = 100  # lines; further down a field is part of what the document is about


def declared_keys(text: str, syntax: Syntax) -> dict[str, str]:
    """The hiding keys that a text declares in its markup; of several `rag`, a no counts."""
    head = "\n".join(text.split("\n", HEAD)[:HEAD])
    found: dict[str, str] = {}
    match syntax:
        case "org":
            drawer = re.split(r"(?m)^\*+[ \t]", head, maxsplit=1)[0]
            pairs = KEYWORD.findall(text) + DRAWER.findall(drawer)
        case "asciidoc":
            pairs = FIELD.findall(head) + [("rag", "false") for _ in UNSET.findall(head)]
        case "rst":
            directive = re.search(r"(?m)^\.\. meta::[ \t]*\n((?:[ \t]+.*\n?|[ \t]*\n)*)", head)
            pairs = FIELD.findall(head) + META_LINE.findall(directive[1] if directive else "")
        case _:
            return found
    for key, value in pairs:
        if found.get(key.lower(), "").lower() not in LEFT_OUT:
            found[key.lower()] = value.rstrip(" \t")
    return found
