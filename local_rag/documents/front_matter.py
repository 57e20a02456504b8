"""The keys that a document says of itself: front matter, or the fields of its markup.

Front matter is YAML, TOML or JSON in every shape that people write it, well-formed or not.
`normalise` makes its values JSON's types, limited in depth, number and size.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

from local_rag.documents.formats.registry import Syntax

JsonValue = None | bool | int | float | str | list[Any] | dict[str, Any]

# The keys by which an author keeps a document out of answers. They count in every format, and
# even in front matter that does not parse.
HIDING_KEYS = ("rag", "lifecycle", "superseded_by")
FALSE_WORDS = frozenset({"false", "no", "off", "0", "never", "none", "n", "f"})
TRUE_WORDS = frozenset({"true", "yes", "on", "1", "y", "t"})

MAX_FRONT_MATTER = 64_000  # characters; anything longer is a data file, not front matter
MAX_VALUES = 500  # values kept of one front matter: an alias bomb has 9**9
MAX_DEPTH = 5
MAX_STRING = 1_000
LONGEST_NUMBER = 40  # characters kept of a number of more than 64 bits
CUT_MARK = (
    f"front matter was cut (at most {MAX_VALUES} values, {MAX_DEPTH} levels deep, "
    f"{MAX_STRING} characters each)"
)
MAX_KEY_WORDS = 4  # a key of more words is a sentence with a colon in it, below a rule
MAX_NESTING = 50  # brackets within brackets: libyaml takes ten seconds for 30,000
MAX_DOTS = 500  # on a line: tomllib takes ten seconds for a key of 30,000 parts
BRACKETS = re.compile(r"[\[\]{}]")
TOP_LEVEL_KEY = re.compile(r"(?m)^([^\s#\-\[\]{}|>][^:=\n]{0,200}?)[ \t]*:(?=\s|$)")
_HIDING_KEY = f"({'|'.join(HIDING_KEYS)})"
# The value is taken apart by hand: one expression for the whole line took 22 s for 1,000 blanks.
HIDING_LINE = re.compile(rf"(?im)^[ \t]*\"?{_HIDING_KEY}\"?[ \t]*[:=]([^\r\n]*)")
QUOTE_OR_COMMA = re.compile("[\"',]")
RAG_LINE = re.compile(r"(?im)^[\"']?rag[\"']?[ \t]*[:=][ \t]*[\"']?(\w+)")

MARKUP_HEAD_LINES = 100  # further down, a field is part of what the document is about
FIELD = re.compile(rf"(?im)^:{_HIDING_KEY}:[ \t]*(\S.*)$")
ORG_KEYWORD = re.compile(rf"(?im)^[ \t]*#\+{_HIDING_KEY}:[ \t]*(\S.*)$")
ORG_DRAWER_LINE = re.compile(rf"(?im)^[ \t]*:{_HIDING_KEY}:[ \t]+(\S.*)$")
ASCIIDOC_UNSET_RAG = re.compile(r"(?im)^:(?:!rag|rag!):[ \t]*$")
RST_META_LINE = re.compile(rf"(?im)^[ \t]+:{_HIDING_KEY}:[ \t]*(\S.*)$")


@dataclass(frozen=True)
class FrontMatter:
    """The keys of a text's front matter; the body starts at character `body_start`."""

    keys: dict[str, Any] = field(default_factory=dict)
    body_start: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metadata:
    """Keys with values of JSON's types, and a warning if some were cut."""

    values: dict[str, JsonValue]
    warnings: tuple[str, ...] = ()


class YamlHandler(YAMLHandler):
    """YAML front matter, from a line of dashes to the next one or to Pandoc's three dots."""

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
        """The parsed table. Raises `tomllib.TOMLDecodeError`, which is a ValueError."""
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
# PyYAML's constructors raise whatever their code trips over: `!!int ""` an IndexError, `!!bool x` a
# KeyError, `!!timestamp x` an AttributeError.
UNREADABLE = (
    yaml.YAMLError, ValueError, RecursionError, OverflowError, TypeError, LookupError,
    AttributeError,
)  # fmt: skip


def parse_front_matter(text: str) -> FrontMatter:
    """The front matter of a text.

    A block that does not parse, or is not a mapping, belongs to the body. The keys that hide a
    document count even then: a typo elsewhere in the block must not publish what its owner
    retired.
    """
    lead = len(text) - len(text.lstrip())
    handler = frontmatter.detect_format(text[lead : lead + 200], HANDLERS)
    if handler is None:
        return FrontMatter()
    try:
        block, body = handler.split(text[lead:])
    except ValueError:  # no closing line: a rule, then prose, or keys that run into the prose
        block = re.split(r"\n[ \t]*\r?\n", text[lead : lead + MAX_FRONT_MATTER], maxsplit=1)[0]
        return _treated_as_text(block, "is not closed", only_if_hiding=True)
    first_line = text.count("\n", 0, text.index(block, lead)) + 1
    return _parse_block(handler, block, first_line, len(text) - len(body))


def declared_keys(text: str, syntax: Syntax) -> dict[str, str]:
    """The hiding keys in the fields of a text's markup; of several `rag`, a false one wins."""
    head = "\n".join(text.split("\n", MARKUP_HEAD_LINES)[:MARKUP_HEAD_LINES])
    found: dict[str, str] = {}
    match syntax:
        case "org":
            drawer = re.split(r"(?m)^\*+[ \t]", head, maxsplit=1)[0]
            pairs = ORG_KEYWORD.findall(text) + ORG_DRAWER_LINE.findall(drawer)
        case "asciidoc":
            pairs = FIELD.findall(head) + [("rag", "false")] * len(ASCIIDOC_UNSET_RAG.findall(head))
        case "rst":
            directive = re.search(r"(?m)^\.\. meta::[ \t]*\n((?:[ \t]+.*\n?|[ \t]*\n)*)", head)
            pairs = FIELD.findall(head) + RST_META_LINE.findall(directive[1] if directive else "")
        case _:
            return found
    for key, value in pairs:
        if found.get(key.lower(), "").lower() not in FALSE_WORDS:
            found[key.lower()] = value.rstrip(" \t")
    return found


def normalise(keys: dict[str, Any]) -> Metadata:
    """The keys with values of JSON's types alone, as many as the limits let through.

    The keys that hide a document are taken first, then single values: 600 tags above them must
    not publish what its owner retired, nor cost the title.
    """
    capped = _Capped()
    ordered = sorted(keys.items(), key=_rank)
    values = {_text(key): capped.value(value, 1) for key, value in ordered[:MAX_VALUES]}
    is_cut = capped.cut or len(ordered) > MAX_VALUES
    return Metadata(values, (CUT_MARK,) if is_cut else ())


def _parse_block(handler: BaseHandler, block: str, first_line: int, body_start: int) -> FrontMatter:
    if len(block) > MAX_FRONT_MATTER:
        return _treated_as_text(block, f"is over {MAX_FRONT_MATTER} characters")
    try:
        keys = _load(handler, block)
    except UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return _treated_as_text(block, f"does not parse ({reason})")
    if keys is None:
        return _treated_as_text(block, "is not a mapping", only_if_hiding=True)
    if not isinstance(handler, YamlHandler):
        return FrontMatter(keys, body_start)
    return _without_repeated(keys, block, first_line, body_start)


def _treated_as_text(block: str, problem: str, *, only_if_hiding: bool = False) -> FrontMatter:
    """A block that belongs to the body. With `only_if_hiding` it may well be prose: no warning."""
    keys = _hiding_keys(block)
    if only_if_hiding and not keys:
        return FrontMatter()
    return FrontMatter(keys, 0, (f"front matter {problem}: treated as text",))


def _hiding_keys(block: str) -> dict[str, Any]:
    """The keys that hide a document, in a block that cannot be read as a whole."""
    found = {}
    for match in HIDING_LINE.finditer(block):
        value = match[2].partition("#")[0].strip().removesuffix(",").strip().strip("\"'").strip()
        if value and not QUOTE_OR_COMMA.search(value):
            found[match[1].lower()] = value
    return found


def _load(handler: BaseHandler, block: str) -> dict[str, Any] | None:
    """The mapping in a block; None if it is prose between two rules."""
    if _is_too_deep(block):
        raise ValueError("nested too deeply")
    keys: Any = handler.load(block)
    if keys is None:
        return {}
    if not isinstance(keys, dict):
        return None
    is_prose = any(len(str(key)[:200].split()) > MAX_KEY_WORDS for key in keys)
    return None if is_prose else keys


def _is_too_deep(block: str) -> bool:
    depth = 0
    for bracket in BRACKETS.findall(block):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth >= MAX_NESTING:
            return True
    return any(line.count(".") > MAX_DOTS for line in block.split("\n"))


def _without_repeated(
    keys: dict[str, Any], block: str, first_line: int, body_start: int
) -> FrontMatter:
    """YAML's keys, with a warning for each that is repeated.

    The last value wins, as in YAML, except for `rag`: what is private stays private.
    """
    repeated = _repeated_keys(block, first_line)
    if any(key == "rag" for key, _ in repeated) and _is_rag_false(block):
        keys = {key: value for key, value in keys.items() if str(key).lower() != "rag"} | {
            "rag": False
        }
    warnings = (
        f"line {line} repeats the key {key[:40]!r}: "
        f"{'false wins' if key == 'rag' else 'the last value wins'}"
        for key, line in repeated
    )
    return FrontMatter(keys, body_start, tuple(warnings))


def _repeated_keys(block: str, first_line: int) -> list[tuple[str, int]]:
    """Each repetition of a top-level key of YAML: the key in lower case, its line in the file."""
    seen: set[str] = set()
    repeated = []
    for match in TOP_LEVEL_KEY.finditer(block):
        key = match[1].strip("\"' \t").lower()
        if key in seen:
            repeated.append((key, first_line + block.count("\n", 0, match.start(1))))
        seen.add(key)
    return repeated


def _is_rag_false(block: str) -> bool:
    """Whether any of several `rag` keys is false."""
    return any(value.lower() in FALSE_WORDS for value in RAG_LINE.findall(block))


def _rank(item: tuple[Any, Any]) -> int:
    key, value = item
    if _text(key).strip().lower() in HIDING_KEYS:
        return 0
    return 2 if isinstance(value, dict | list | tuple | set) else 1


class _Capped:
    """Converts values to JSON's types up to the limits; `cut` says that some were dropped."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self.cut = False

    def value(self, value: Any, depth: int) -> JsonValue:
        """The value, or None if it is one too many or nested too deeply."""
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            self.cut = True
            return None
        match value:
            case int() if abs(value) >= 2**63:
                return _large_number(value)
            case None | bool() | int():
                return value
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
        """As many items of a collection as may still be kept."""
        self.cut |= len(values) > max(self._left, 0)
        return list(values)[: max(self._left, 0)]


def _large_number(value: int) -> str:
    try:
        return str(value)[:LONGEST_NUMBER]
    except ValueError:  # Python writes no more than 4,300 digits, but YAML's 0xfff… may have more
        return hex(value)[:LONGEST_NUMBER]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else None
    if text is None:
        text = (
            str(value) if isinstance(value, int | float | datetime.date) else type(value).__name__
        )
    # YAML escapes can spell a lone surrogate, which no encoder takes.
    return text[:MAX_STRING].encode("utf-8", "replace").decode("utf-8")
