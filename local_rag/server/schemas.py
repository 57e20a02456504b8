"""How `tools/list` shows the tools: schemas in the fewest bytes, and read-only hints."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcp_types as types
from pydantic import BaseModel

from local_rag.tools.tool import Tool
from local_rag.tools.toolset import TOOLS

NULL = {"type": "null"}


@cache
def listed_tools() -> list[types.Tool]:
    """Every tool as `tools/list` shows it."""
    return [listed(tool) for tool in TOOLS.values()]


def listed(tool: Tool) -> types.Tool:
    """One tool as `tools/list` shows it."""
    return types.Tool(
        name=tool.name,
        description=" ".join(tool.description.split()),
        input_schema=lean_schema(tool.arguments),
        output_schema=lean_schema(tool.result),
        annotations=types.ToolAnnotations(
            read_only_hint=True,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )


def lean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema in the fewest bytes: a client pays for each of them in every session."""
    schema: dict[str, Any] = _lean(model.model_json_schema())
    del schema["description"]  # the tool has one that says more
    return schema


def _lean(schema: Any) -> Any:
    """Leaves out titles made of names, and that a field could be null: it is left out instead."""
    if isinstance(schema, list):
        return [_lean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    if NULL in kept.get("anyOf", ()):
        (one,) = (option for option in kept.pop("anyOf") if option != NULL)
        kept = one | {k: v for k, v in kept.items() if k != "default"}
    kept.pop("maxLength", None)  # far above anything that is meant
    return {name: _lean(value) for name, value in kept.items()}
