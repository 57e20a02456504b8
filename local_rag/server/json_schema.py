"""Whether a JSON value matches a JSON Schema, for the few keywords that the SDK's types need.

Stricter than pydantic, which would convert some values that do not match. Runs on old
interpreters, as the front does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYWORDS = frozenset(
    {"$defs", "$ref", "anyOf", "type", "properties", "required", "additionalProperties"}
    | {"items", "const", "enum"}
)
IGNORED = frozenset({"title", "description", "default"})
TYPES: Mapping[str, Any] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def matches(value: Any, schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether `value` matches `schema`, a part of `root`."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return matches(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return any(matches(value, one, root) for one in schema["anyOf"])
    if "type" in schema and not _is_a(schema["type"], value):
        return False
    if value != schema.get("const", value) or value not in schema.get("enum", (value,)):
        return False
    if isinstance(value, list):
        return all(matches(item, schema.get("items", True), root) for item in value)
    return not isinstance(value, dict) or _has_fields(value, schema, root)


def _is_a(kind: str, value: Any) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _has_fields(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]
) -> bool:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if any(name not in value for name in schema.get("required", ())):
        return False
    return all(matches(item, known.get(name, others), root) for name, item in value.items())
