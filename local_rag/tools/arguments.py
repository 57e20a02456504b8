"""A call's arguments: checked against their model, numbers brought into range."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_rag.errors import BadArgument
from local_rag.text.trim import echo_number, shorten

LARGEST_NUMBER = 2**62  # beyond it Python refuses to print some and SQLite to compare
ECHO_BYTES = 60  # bytes of a name that is repeated in an error
LONGEST_NAME = 4_096  # characters of a path, glob, root or tag: what file systems allow

NameArgument = Annotated[str, Field(max_length=LONGEST_NAME)]


class Arguments(BaseModel):
    """Arguments of a tool; an unknown one is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Clamped:
    """A number within its range, and a notice where it was not."""

    value: int
    notices: tuple[str, ...] = ()


def clamped(name: str, value: int, low: int, high: int = LARGEST_NUMBER) -> Clamped:
    """`value` brought into the range `low` to `high`."""
    taken = min(max(value, low), high)
    if taken == value:
        return Clamped(value)
    return Clamped(taken, (f"{name} {echo_number(value)} is out of range; used {taken}.",))


def checked_arguments(model: type[BaseModel], arguments: dict[str, Any]) -> BaseModel:
    """The arguments as `model`.

    Raises:
        BadArgument: naming the argument that is wrong, and for an unknown one the nearest.
    """
    try:
        return model.model_validate(_encodable(arguments))
    except ValidationError as error:
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    name = ".".join(str(part) for part in first["loc"]) or "arguments"
    if first["type"] == "extra_forbidden":
        known = list(model.model_fields)
        near = difflib.get_close_matches(name[:ECHO_BYTES], known, n=1)
        remedy = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
        raise BadArgument(f"Unknown argument '{shorten(name, ECHO_BYTES)}'.", remedy)
    field = model.model_fields.get(str(first["loc"][0])) if first["loc"] else None
    described = field and field.description
    remedy = f"It takes: {described}" if described else "See the tool's schema."
    if first["type"] == "missing":
        raise BadArgument(f"Argument '{name}' is missing.", remedy)
    raise BadArgument(f"Argument '{name}': {first['msg']}.", remedy)


def _encodable(value: Any) -> Any:
    """A value from JSON without lone surrogates and huge numbers, which nothing can store."""
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return LARGEST_NUMBER if value > 0 else -LARGEST_NUMBER
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value
