"""What a document says of itself, as JSON's types, limited in depth, number and size. Pure."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

JsonValue = None | bool | int | float | str | list[Any] | dict[str, Any]

# The keys by which an author keeps a document out of answers. They count in every format, and
# even in front matter that does not parse.
HIDING_KEYS = ("rag", "lifecycle", "superseded_by")
FALSE_WORDS = frozenset({"false", "no", "off", "0", "never", "none", "n", "f"})
TRUE_WORDS = frozenset({"true", "yes", "on", "1", "y", "t"})

MAX_VALUES = 500  # values kept of one front matter: an alias bomb has 9**9
MAX_DEPTH = 5
MAX_STRING = 1_000
LONGEST_NUMBER = 40  # characters kept of a number of more than 64 bits
CUT_MARK = (
    f"front matter was cut (at most {MAX_VALUES} values, {MAX_DEPTH} levels deep, "
    f"{MAX_STRING} characters each)"
)


@dataclass(frozen=True)
class Metadata:
    """Keys with values of JSON's types, and a warning if some were cut."""

    values: dict[str, JsonValue]
    warnings: tuple[str, ...] = ()


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
