"""Calls of tools in process, and the calls that answers spell out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from local_rag.settings import load_settings
from local_rag.tools.toolset import Answer, open_toolset

Call = Callable[..., dict[str, Any]]


@contextmanager
def toolbox() -> Iterator[Callable[[str, dict[str, Any]], Answer]]:
    """Calls tools over the settings' store as the server does."""
    with closing(open_toolset(load_settings())) as tools:
        yield tools.call


@contextmanager
def calls() -> Iterator[Call]:
    """The same, answering the structured content, or `{"error": ...}`."""
    with toolbox() as use:

        def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = use(name, arguments)
            if result.is_error:
                return {"error": result.text}
            assert result.structured is not None
            return result.structured

        yield call


def follow(call: Call, spelled: str) -> dict[str, Any]:
    """Makes the call that an answer spells out."""
    node = ast.parse(spelled, mode="eval").body
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    arguments = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
    return call(node.func.id, **arguments)


def whole(call: Call, path: str) -> str:
    """A file's text by following the next calls."""
    page = call("get_file", path=path)
    text = page["text"]
    while spelled := page.get("next_call"):
        page = follow(call, spelled)
        assert page.get("text")
        text += page["text"]
    return str(text)
