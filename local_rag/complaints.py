"""What is wrong with a setting, in one plain line: where it was set, to what, and what it takes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_rag.errors import SettingsError

SHOWN = 60  # characters shown of a value


def complaint(fault: Mapping[str, Any], takes: Mapping[str, str], config: Path) -> SettingsError:
    """The error for one of pydantic's findings; `takes` says of each setting what it may be."""
    given = str(fault["loc"][0]) if fault["loc"] else ""
    name = given.lower().removeprefix("rag_")
    if name not in takes or fault["type"] == "extra_forbidden":  # the latter: RAG_MODEL in a file
        near = difflib.get_close_matches(name, takes, n=1)
        remedy = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(takes)}."
        return SettingsError(f"{config} has {given!r}, which is no setting.", remedy)
    variable = variable_of(name)
    if variable:
        where, value = variable, os.environ[variable]
    else:
        where, value = f"{name} in {config}", fault["input"]
    said = repr(value) if len(repr(value)) <= SHOWN else f"{repr(value)[:SHOWN]}..."
    has = f"has the entry {said}" if len(fault["loc"]) > 1 and not variable else f"is {said}"
    return SettingsError(f"{where} {has}.", f"It takes {takes[name]}.")


def variable_of(name: str) -> str | None:
    """The environment variable that sets a setting, as it is written; None if none does."""
    names = {f"RAG_{name}".upper()} | ({name.upper()} if name == "ollama_host" else set())
    return next((key for key in sorted(os.environ, reverse=True) if key.upper() in names), None)


def set_by(name: str, config: Path) -> str:
    """What sets a setting, to be named in an error."""
    return variable_of(name) or f"{name} in {config}"
