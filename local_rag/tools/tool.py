"""What a tool is: its name, what it takes and returns, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.tools.answer import Result
from local_rag.tools.arguments import Arguments

if TYPE_CHECKING:
    from local_rag.embedding.query_embedder import QueryEmbedder
    from local_rag.index.live_index import LiveIndex
    from local_rag.settings import Settings


@dataclass(frozen=True)
class Sources:
    """What the tools answer from. Safe to use from several threads."""

    live: LiveIndex
    embedder: QueryEmbedder
    settings: Settings


@dataclass(frozen=True)
class Tool:
    """One tool. `run` takes the sources and checked arguments of type `arguments`.

    `run` raises a RagError for whatever a person or an agent can act on.
    """

    name: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    run: Callable[[Sources, Any], Result]
