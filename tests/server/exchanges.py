"""Random exchanges of a client with a server, and what the SDK's server alone answers to them."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from local_rag.errors import RagError
from local_rag.server.app import make_server
from local_rag.server.front import Front, Learned, load_data
from local_rag.server.front_data import SampleSource
from local_rag.server.resource_list import error_line, resource_page
from local_rag.server.stdin import WireInput, repaired

PATIENCE = 30  # seconds for all answers of an exchange
MODERN = {
    types.PROTOCOL_VERSION_META_KEY: MODERN_PROTOCOL_VERSIONS[-1],
    types.CLIENT_CAPABILITIES_META_KEY: {},
}
CAPABILITIES: tuple[Any, ...] = (
    {}, {"roots": {"listChanged": True}}, {"sampling": {}, "elicitation": {"form": {}}},
    {"experimental": {"x": {"y": [1, None, "z"]}}}, {"roots": 7}, {"roots": {"listChanged": "yes"}},
    {"extensions": {"a/b": {}}, "tasks": {"list": {}, "requests": {"sampling": {}}}}, [], None,
)  # fmt: skip
INFOS: tuple[Any, ...] = (
    {"name": "c", "version": "1"}, {"name": "c"}, {"name": "c", "version": 1}, "c",
    {"name": "ç", "version": "1", "title": None, "icons": [{"src": "x", "theme": "dark"}]},
    {"name": "c", "version": "1", "icons": [{"src": 1}], "more": {"x": []}},
)  # fmt: skip
VERSIONS: tuple[Any, ...] = (
    *HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS, "1999-01-01", "", 7,
)  # fmt: skip
METAS: tuple[Any, ...] = (
    None, {}, {"progressToken": 1}, {"progressToken": "t"}, {"progressToken": 1.5}, {"x": [{}]}, 7,
    {"progressToken": None}, {"progress_token": 3},
)  # fmt: skip
REQUESTS = (
    "tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover",
    "ping", "tools/call", "prompts/get", "resources/read", "completion/complete", "initialize",
    "logging/setLevel", "no/such/method", "",
)  # fmt: skip
NOTIFICATIONS = (
    "notifications/initialized", "notifications/cancelled", "notifications/progress",
    "notifications/roots/list_changed", "no/such/notification",
)  # fmt: skip
ODD = (
    "",
    " \t",
    "no JSON",
    "{",
    "[]",
    "null",
    "7",
    '"x"',
    "{}",
    "[" * 300,
    '{"a":' * 90 + "1" + "}" * 90,
    '[{"jsonrpc":"2.0","id":"batch","method":"ping"}]',
    "\x00\x01",
    "\ufeff{}",
    '{"id":1}',
    "x" * 200_000,
    '{"jsonrpc":"1.0","id":"old","method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":true,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":"twice","method":"ping","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":"list","method":"ping","params":[]}',
    '{"jsonrpc":"2.0","result":{}}',
    '{"jsonrpc":"2.0","id":"answer","result":{}}',
    '{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}',
    '{"jsonrpc":"2.0","id":"both","method":"ping","result":{}}',
    '{"jsonrpc":"2.0","method":7,"id":"m"}',
    '{"jsonrpc":"2.0","id":"nan","method":"ping","params":{"x":NaN}}',
    '{"jsonrpc": "2.0", "method": "ping"}',
    '{"jsonrpc":"2.0","id":"inf","method":"tools/list","params":{"x":1e999}}',
    "\u2028",
    "{'a': 1}",
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    '{"jsonrpc":"2.0","id":-3,"method":"ping"}',
    '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    '{"jsonrpc":"2.0","id":"\\u0000\\u001f\\u007f","method":"ping"}',
    '{"jsonrpc":"2.0","id":"é\\ud83d\\ude00\\u2028/","method":"ping","params":null}',
    '{"jsonrpc":"2.0","id":"n","method":"ping","params":null,"extra":[]}',
    '{"jsonrpc":"2.0","id":"i","method":"\\u0069nitialize","params":{}}',
)


@dataclass(frozen=True)
class Exchange:
    """What a client sends, in pieces; and after how many lines the SDK's server is loaded."""

    pieces: tuple[bytes, ...]
    learned_after: int
    loaded_after: int

    @property
    def lines(self) -> list[str]:
        """The lines as a server reads them."""
        text = b"".join(self.pieces).decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]


def random_exchange(seed: int) -> Exchange:
    """One of many: of any era, orderly or not."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    lines = _opening(chance)
    for n in range(chance.randint(0, 9)):
        lines.insert(chance.randint(len(lines) // 2, len(lines)), _any_line(chance, f"r{n}", lines))
    ends = chance.choices(("\n", "\r\n", "\n\n"), (20, 1, 1), k=len(lines))
    data = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode("utf-8")
    if chance.random() < 0.1:
        data = _mangled(chance, data)
    cuts = sorted(chance.sample(range(len(data) + 1), min(len(data), chance.choice((0, 0, 1, 5)))))
    pieces = tuple(data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True))
    learned, loaded = sorted(chance.choices(range(len(lines) + 1), k=2))
    return Exchange(pieces, learned, loaded)


def odd_beginning(seed: int) -> Exchange:
    """A handshake after lines that are none, or nearly one."""
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
    hello = "".join(f"{line}\n" for line in _opening(chance)).encode("utf-8")
    odd = [chance.choice((hello, chance.choice(ODD).encode("utf-8", "replace") + b"\n"))]
    if chance.random() < 0.2:
        odd.append(chance.randbytes(chance.randint(1, 300)) + b"\n")
    data = b"".join(_mangled(chance, line) for line in odd) + hello
    data += _request("tools/list", "last", {}).encode("utf-8") + b"\n"
    return Exchange((data,), chance.randint(0, 2), 2)


def _mangled(chance: random.Random, data: bytes) -> bytes:
    """The same with a few bytes left out, replaced or added."""
    changed = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 3))):
        at = chance.randint(0, len(changed))
        changed[at : at + chance.randint(0, 2)] = chance.choice(
            (b"", b"\r", b"\xff", b'"', b"}", b"0")
        )
    return bytes(changed)


def _opening(chance: random.Random) -> list[str]:
    kind = chance.random()
    if kind < 0.2:
        return []
    if kind < 0.4:
        return [_request("server/discover", "d", {"_meta": MODERN})]
    version = chance.choice(HANDSHAKE_PROTOCOL_VERSIONS)
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFOS[0]}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return [_request("initialize", 0, hello), json.dumps(done)]


def _any_line(chance: random.Random, id_: str, before: Sequence[str]) -> str:
    kind = chance.random()
    if kind < 0.12:
        return chance.choice(ODD)
    if kind < 0.25:
        method = chance.choice(NOTIFICATIONS)
        params = chance.choice(({}, {"requestId": f"r{chance.randint(0, 9)}"}, {"_meta": 7}))
        return json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
    method = chance.choice(REQUESTS)
    params = _params(chance, method)
    is_modern = any(types.PROTOCOL_VERSION_META_KEY in line for line in before)
    if is_modern != (chance.random() < 0.1):
        meta = MODERN | (chance.choice(METAS[1:4]) or {})
        if chance.random() < 0.2:
            keys = (*MODERN, types.CLIENT_INFO_META_KEY)
            values = (*VERSIONS, *CAPABILITIES, *INFOS)
            meta |= {chance.choice(keys): chance.choice(values)}
        params = params | {"_meta": meta}
    number = int(id_[1:]) + 100
    return _request(method, chance.choice((id_, number)), params if chance.random() < 0.9 else None)


def _params(chance: random.Random, method: str) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if method == "initialize":
        params = {
            "protocolVersion": chance.choice(VERSIONS),
            "capabilities": chance.choice(CAPABILITIES),
            "clientInfo": chance.choice(INFOS),
        }
    if method in {"tools/call", "prompts/get"}:
        params = {"name": chance.choice(("search_corpus", "none", 7)), "arguments": {}}
    if method == "resources/read":
        params = {"uri": chance.choice(("corpus://root/0", "", 7))}
    if method.endswith("/list") and chance.random() < 0.3:
        params = {"cursor": chance.choice(("", "3", "nowhere", None, 7))}
    if chance.random() < 0.2:
        params["_meta"] = chance.choice(METAS)
    return params


def _request(method: str, id_: object, params: object) -> str:
    given = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, **given})


class Source(SampleSource):
    """Tools that can't be called, over an index in which no document is found by name."""

    @contextmanager
    def use(self) -> Iterator[SimpleNamespace]:
        with super().use() as index:
            index.catalog.file = lambda root, path: None
            index.catalog.names = list
            yield index


def early(cursor: str | None) -> Learned:
    """The same index's list, as a front learns it."""
    with Source().use() as index:
        try:
            page = resource_page(index.catalog.files(), cursor)
        except RagError as error:
            return Learned((), None, error_line(error))
    return Learned(page.resources, page.next_cursor)


def answers_of_sdk(exchange: Exchange) -> list[str]:
    """What the SDK's server answers alone, in order."""
    with _Client(exchange) as client:
        _serve(client.stdin, cast(Any, client))
        return client.answers


def answers_with_front(exchange: Exchange) -> list[str]:
    """The same with a front before it, in order."""
    with _Client(exchange) as client:
        front = Front(load_data(), client.write)
        threading.Thread(target=_feed, args=(front, client.stdin, exchange)).start()
        _serve(front, front)
        return client.answers


def _feed(front: Front, stdin: WireInput, exchange: Exchange) -> None:
    events: dict[int, list[Callable[[], None]]] = {}
    events.setdefault(exchange.learned_after, []).append(lambda: front.learn(early))
    events.setdefault(exchange.loaded_after, []).append(front.hand_over)
    count = 0
    while True:
        for event in events.pop(count, ()):
            event()
        line = stdin.readline()
        if not line:
            break
        front.take(line)
        count += 1
    front.end()
    for remaining in sorted(events):
        for event in events[remaining]:
            event()


def _serve(stdin: Any, stdout: Any) -> None:
    async def run() -> None:
        stdio = stdio_server(stdin=anyio.wrap_file(stdin), stdout=anyio.wrap_file(stdout))
        async with stdio as (read, write):
            server = make_server(Source())
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


class _Client:
    """Sends an exchange through a pipe, and hangs up when all that needs an answer has one."""

    def __init__(self, exchange: Exchange) -> None:
        self._pieces, self.answers = exchange.pieces, list[str]()
        self._missing = _needing_answers(exchange.lines)
        self._changed = threading.Condition()
        reading, self._writing = os.pipe()
        self.stdin = WireInput(os.fdopen(reading, "rb"), encoding="utf-8", errors="replace")
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> _Client:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._thread.join()
        self.stdin.close()
        assert not self._missing, self._missing

    def write(self, line: str) -> None:
        with self._changed:
            self.answers.append(line)
            self._missing.discard(json.dumps(json.loads(line).get("id")))
            self._changed.notify()

    def flush(self) -> None:
        pass

    def _send(self) -> None:
        for piece in self._pieces:
            os.write(self._writing, piece) if len(piece) < 60_000 else self._send_long(piece)
        with self._changed:
            self._changed.wait_for(lambda: not self._missing, PATIENCE)
        os.close(self._writing)

    def _send_long(self, piece: bytes) -> None:
        sent = 0
        while sent < len(piece):
            sent += os.write(self._writing, piece[sent:])


def _messages(lines: Sequence[str]) -> Iterator[types.JSONRPCMessage]:
    for line in lines:
        with suppress(ValidationError):
            yield jsonrpc_message_adapter.validate_json(repaired(line), by_name=False)


def _needing_answers(lines: Sequence[str]) -> set[str]:
    """The ids, as JSON, of requests that nothing cancels."""
    asked = [m.id for m in _messages(lines) if isinstance(m, types.JSONRPCRequest)]
    return {json.dumps(id_) for id_ in asked} - cancelled_in(lines)


def cancelled_in(lines: Sequence[str]) -> set[str]:
    """The ids, as JSON, that some notification cancels: whether they are answered is chance."""
    return {
        json.dumps((message.params or {}).get("requestId"))
        for message in _messages(lines)
        if isinstance(message, types.JSONRPCNotification)
        and message.method == "notifications/cancelled"
    }


def settled(answers: Sequence[str], exchange: Exchange) -> list[str]:
    """The answers that do not depend on chance, in an order of their own."""
    cancelled = cancelled_in(exchange.lines)
    return sorted(a for a in answers if json.dumps(json.loads(a).get("id")) not in cancelled)
