"""What the front answers from, as the SDK's own server answers it: for every protocol version."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from local_rag.errors import IndexUnreadable
from local_rag.index.catalog import FileRecord
from local_rag.server.app import make_server
from local_rag.server.front import REASON
from local_rag.server.json_schema import IGNORED, KEYWORDS
from local_rag.server.resource_list import PAGE_RESOURCES
from local_rag.tools.toolset import Answer, Toolset

LISTS = ("tools/list", "prompts/list", "resources/templates/list")
METHODS = {
    **dict.fromkeys(HANDSHAKE_PROTOCOL_VERSIONS, ("initialize", "ping", *LISTS)),
    **dict.fromkeys(MODERN_PROTOCOL_VERSIONS, ("server/discover", *LISTS)),
}
CLIENT = {"name": "client", "version": "1"}
CALL = {"name": "search_corpus", "arguments": {"query": "x"}}


def render() -> dict[str, Any]:
    """The content of `front.json`."""
    server = make_server(SampleSource())
    results: list[Any] = []
    schemas: list[Any] = []
    answers: dict[str, dict[str, int]] = {}
    takes: dict[str, dict[str, list[int]]] = {}
    pages: dict[str, Any] = {}
    refusals: dict[str, Any] = {}
    for version, names in METHODS.items():
        answered = _asked(server, version, (*names, "resources/list", "tools/call"))
        pages[version] = answered["resources/list"]
        del pages[version]["resources"][1:]
        refusals[version] = answered["tools/call"]
        answers[version] = {name: _place(results, answered[name]) for name in names}
        takes[version] = {
            name: [_place(schemas, lean(s)) for s in _schemas(server, version, name)]
            for name in (*names, "resources/list")
        }
    return {
        "handshake": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "answers": answers,
        "takes": takes,
        "pages": pages,
        "refusals": refusals,
        "results": results,
        "schemas": schemas,
    }


def as_text(data: Mapping[str, Any]) -> str:
    """The data as it is stored."""
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


class SampleSource:
    """Tools of which none can be called, over an index of more documents than a page lists."""

    def __call__(self) -> Toolset:
        """The toolset."""
        return cast(Toolset, self)

    def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Why none can be called."""
        return Answer(REASON)

    @property
    def live(self) -> SampleSource:
        """The index as a server holds it."""
        return self

    @property
    def store(self) -> SampleSource:
        """The store, of which nothing can be read."""
        return self

    @property
    def path(self) -> Path:
        """Its folder."""
        return Path("none")

    def current_name(self) -> str:
        """The live snapshot's name."""
        raise IndexUnreadable("", "")

    @contextmanager
    def use(self) -> Iterator[SimpleNamespace]:
        """The index for one request."""
        names = [str(n) for n in range(PAGE_RESOURCES + 1)]
        files = [
            FileRecord(n, "root", name, "", "", 0, 0, "", "", "", (), "", {}, ())
            for n, name in enumerate(names)
        ]
        yield SimpleNamespace(catalog=SimpleNamespace(files=lambda: files))


def _place(among: list[Any], value: Any) -> int:
    """Where `among` holds this value, which is added if it doesn't."""
    if value not in among:
        among.append(value)
    return among.index(value)


def _asked(server: Server, version: str, names: Sequence[str]) -> dict[str, Any]:
    """The results of these methods."""
    base: dict[str, Any] = {}
    if version in MODERN_PROTOCOL_VERSIONS:
        base["_meta"] = {
            types.PROTOCOL_VERSION_META_KEY: version,
            types.CLIENT_CAPABILITIES_META_KEY: {},
        }
    params = dict.fromkeys(names, base)
    params["initialize"] = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    params["tools/call"] = base | CALL
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": name, "method": name, "params": params[name]})
        for name in names
    ]
    answers = [json.loads(line) for line in exchange(server, lines)]
    return {answer["id"]: answer["result"] for answer in answers}


def exchange(server: Server, lines: Iterable[str]) -> list[str]:
    """What the SDK's server alone answers to lines, each sent when all before are answered."""
    wire = _Wire(lines)

    async def run() -> None:
        stdio = stdio_server(
            stdin=anyio.wrap_file(cast(Any, wire)), stdout=anyio.wrap_file(cast(Any, wire))
        )
        async with stdio as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
    return wire.answers


class _Wire:
    """Standard input and output of a server, for requests that all get an answer."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._answered = iter(lines), threading.Semaphore(1)
        self.answers: list[str] = []

    def readline(self) -> str:
        self._answered.acquire()
        return next((f"{line}\n" for line in self._lines), "")

    def write(self, line: str) -> None:
        self.answers.append(line)
        self._answered.release()

    def flush(self) -> None:
        pass


def _schemas(server: Server, version: str, method: str) -> list[Any]:
    """What a request has to match: the version's type, and that of the handler's parameters."""
    entry = server.get_request_handler(method)
    taken = entry.params_type if entry else types.InitializeRequestParams
    params = taken.model_json_schema()
    whole = {"type": "object", "properties": {"params": {"anyOf": [params, {"type": "null"}]}}}
    of_version: type[BaseModel] = methods.CLIENT_REQUESTS[method, version]
    return [of_version.model_json_schema(), whole | {"$defs": params.pop("$defs", {})}]


def lean(schema: Any) -> Any:
    """A schema without what doesn't decide whether a value matches.

    Raises:
        ValueError: it has a keyword that the front doesn't know.
    """
    if not isinstance(schema, dict):
        return schema
    if unknown := schema.keys() - KEYWORDS - IGNORED:
        raise ValueError(f"The front knows no JSON Schema keyword {', '.join(sorted(unknown))}.")
    rules: dict[str, Callable[[Any], Any]] = {
        "$defs": lambda named: {name: lean(one) for name, one in named.items()},
        "properties": lambda named: {name: lean(one) for name, one in named.items()},
        "anyOf": lambda several: [lean(one) for one in several],
        "additionalProperties": lean,
        "items": lean,
    }
    kept = {key: value for key, value in schema.items() if key not in IGNORED}
    return {key: rules[key](value) if key in rules else value for key, value in kept.items()}
