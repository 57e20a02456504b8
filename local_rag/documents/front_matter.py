"""The keys that a document says of itself: front matter, or the fields of its markup.

Front matter is YAML, TOML or JSON in every shape that people write it, well-formed or not.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

from local_rag.documents.formats.registry import Syntax
from local_rag.documents.metadata import FALSE_WORDS, HIDING_KEYS

MAX_FRONT_MATTER = 64_000  # characters; anything longer is a data file, not front matter
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

    def load(self, fm: str, **options: object) -> Any:
        """The parsed object. Raises `json.JSONDecodeError`, which is a ValueError."""
        return json.loads(fm, object_pairs_hook=_false_rag_wins)


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


def _false_rag_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object: of several equal keys the last counts, as in JSON, except for `rag`."""
    hides = any(key.lower() == "rag" and str(value).lower() in FALSE_WORDS for key, value in pairs)
    return {key: False if hides and key.lower() == "rag" else value for key, value in pairs}


def _is_rag_false(block: str) -> bool:
    """Whether any of several `rag` keys is false."""
    return any(value.lower() in FALSE_WORDS for value in RAG_LINE.findall(block))
