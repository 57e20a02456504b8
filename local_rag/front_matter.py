"""Front matter in every shape people write it: YAML, TOML or JSON, well-formed or not.

Its values become JSON's types, capped in depth, number and size. Leaves out what a key means.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import BaseHandler, JSONHandler, YAMLHandler

JsonValue = None | bool | int | float | str | list[Any] | dict[str, Any]

MAX_FRONT_MATTER = 64_000  # characters; more is somebody's data file, not front matter
MAX_VALUES = 500  # values kept of one front matter: an alias bomb has 9**9
MAX_DEPTH = 5
MAX_STRING = 1_000


class TomlHandler(BaseHandler):
    """TOML front matter between `+++` lines. The library's own handler needs the package `toml`."""

    FM_BOUNDARY = re.compile(r"^\+{3,}\s*$", re.MULTILINE)

    def load(self, fm: str) -> Any:
        """The parsed table. Raises `tomllib.TOMLDecodeError`, a ValueError."""
        return tomllib.loads(fm)


HANDLERS = (YAMLHandler(), TomlHandler(), JSONHandler())


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


def normalised(keys: dict[str, Any]) -> dict[str, JsonValue]:
    """The keys with values of JSON's types alone, as many as the caps let through."""
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
