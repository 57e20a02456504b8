"""Answers a client's first messages from prepared data, while the SDK's server is still loading.

The SDK takes more than a second of CPU to import, and clients ask for the tools once, early, and
do without those of a server that isn't there by then. What the front answers is what the SDK's
server would answer: `local_rag/data/front.json`, which `tools/build_front.py` writes. Whatever it
isn't sure about waits for the SDK's server, which then serves all the rest.

Only the standard library is imported, in syntax that Python 3.8 understands: an interpreter that
is too old or lacks the packages is told so in an answer that a person gets to see.
"""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.server.json_schema import matches

DATA = Path(__file__).parent.parent / "data" / "front.json"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
REASON = "{reason}"  # stands in the data for why no tool can be called
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
LONGEST_LINE = 100_000  # characters
DEEPEST = 100  # opening brackets; the SDK's parser refuses 200 levels and more
LARGEST_ID = 2**53

if TYPE_CHECKING:
    Message = dict[str, Any]


class Kept(NamedTuple):
    """A line for the SDK's server. `message` is what it holds, None if that isn't certain.

    `version` is the one by which it is certain to be answered, and `opens` says that it is the
    client's first request. One that was `heard` is answered already, and only brings the SDK's
    server to the same state.
    """

    line: str
    message: Message | None
    version: str | None = None
    opens: bool = False
    heard: bool = False

    def may_be_dropped(self, id_: object) -> bool:
        """Whether it's a request of this id that leaves the SDK's server in the same state."""
        if self.message is None or self.opens or self.heard:
            return False
        own, method = self.message.get("id"), self.message.get("method")
        return type(own) is type(id_) and own == id_ and method not in (None, "initialize")


class Learned(NamedTuple):
    """What the front was taught to list: a page, or why there is none."""

    items: Sequence[Message]
    next_cursor: str | None
    failure: str = ""


def load_data() -> Message:
    """The prepared answers."""
    data: Message = json.loads(DATA.read_text(encoding="utf-8"))
    return data


class Front:
    """One connection. `take` and `end` belong to the thread that reads, all else to another.

    `send` writes a line to the client.
    """

    def __init__(self, data: Message, send: Callable[[str], None]) -> None:
        self._data, self._send = data, send
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._begun = self._ended = self._handed_over = False
        self._kept: list[Kept] = []
        self._for_sdk: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._resources: Callable[[str | None], Learned | None] | None = None
        self._era = ""  # "handshake" or "modern", as the first request decides; "unsure" for good
        self._version: str | None = None  # as the handshake agreed
        self._heard = f"heard-{os.urandom(8).hex()}"  # the id of requests that were answered here

    def take(self, line: str) -> None:
        """Answers a line of the client's, or keeps it for the SDK's server."""
        with self._arrived:
            if self._handed_over:
                self._for_sdk.put(line)
                return
            kept = self._judged(line, parsed(line))
            self._drop_cancelled(kept.message)
            if not self._answered(kept):
                self._kept.append(kept)
            self._begun = True
            self._arrived.notify()

    def learn(self, resources: Callable[[str | None], Learned | None]) -> None:
        """Answers `resources/list`, from now on, by what `resources` returns for a cursor.

        It returns None for what only the SDK's server can find out.
        """
        with self._lock:
            self._resources = resources
            waiting, self._kept = self._kept, []
            for kept in waiting:
                if kept.heard or not self._answered(kept):
                    self._kept.append(kept)

    def end(self) -> bool:
        """Notes that the client has closed its side. Whether anything still waits for an answer."""
        with self._arrived:
            self._ended = True
            if self._handed_over:
                self._for_sdk.put("")
                return True
            self._arrived.notify()
            return any(not kept.heard for kept in self._kept)

    def wait(self, *, for_kept: bool = False) -> None:
        """Waits for the client's first message, or for one that needs the SDK's server."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._waiting() if for_kept else self._begun)

    def hand_over(self) -> None:
        """Leaves this and all that follows to the SDK's server, in the order in which it came."""
        with self._lock:
            self._handed_over = True
            for kept in self._kept:
                self._for_sdk.put(kept.line)
            if self._ended:
                self._for_sdk.put("")

    def refuse(self, reason: str) -> bool:
        """Answers what waits for the SDK's server by saying why there is none.

        Whether the client is still there, to ask again.
        """
        with self._lock:
            waiting, self._kept = self._kept, [kept for kept in self._kept if kept.heard]
            for kept in waiting:
                if not kept.heard and kept.message and {"id", "method"} <= kept.message.keys():
                    self._send(self._refusal(kept.message, reason))
            return not self._ended

    def readline(self) -> str:
        """The next line for the SDK's server; empty at the end. Its standard input."""
        return self._for_sdk.get()

    def write(self, line: str) -> None:
        """Sends what the SDK's server answers, but for what was answered here. Its output."""
        if not line.startswith(f'{{"jsonrpc":"2.0","id":"{self._heard}"'):
            self._send(line)

    def flush(self) -> None:
        """Does nothing: each line is sent at once."""

    def _waiting(self) -> bool:
        return self._ended or any(not kept.heard for kept in self._kept)

    def _judged(self, line: str, message: Message | None) -> Kept:
        """Reads a line as the SDK's server would in the state that it has by then."""
        if message is None:
            if line.strip():
                self._era = "unsure"  # it may be anything, also a handshake
            return Kept(line, None)
        if "id" not in message or "method" not in message or self._era == "unsure":
            return Kept(line, message)
        opens, is_handshake = not self._era, message["method"] == "initialize"
        enveloped = VERSION_KEY in _meta(message)
        if opens:
            self._era = "modern" if enveloped and not is_handshake else "handshake"
        if is_handshake:
            version = self._negotiated(message)
            self._version, self._era = version, self._era if version else "unsure"
        elif (self._era == "modern") != enveloped:
            version = None  # an error, which the SDK words
        elif enveloped:
            version = _meta(message)[VERSION_KEY]
            version = None if version in self._data["handshake"] else version
        else:
            version = self._version
            if message["method"] == "ping":  # allowed before the handshake
                version = version or self._data["handshake"][-1]
        if not isinstance(version, str) or not self._is_valid(message, version):
            version = None
        return Kept(line, message, version, opens)

    def _drop_cancelled(self, message: Message | None) -> None:
        """Forgets a request that its client takes back; the SDK's server might still answer it."""
        if self._era == "unsure" or message is None or "id" in message:
            return
        if message.get("method") == "notifications/cancelled":
            id_ = (message.get("params") or {}).get("requestId")
            self._kept = [kept for kept in self._kept if not kept.may_be_dropped(id_)]

    def _answered(self, kept: Kept) -> bool:
        """Answers a message if that is certain to be right."""
        if kept.message is None or kept.version is None:
            return False
        answer = self._answer(kept.message, kept.version)
        if answer is None:
            return False
        if kept.opens or kept.message["method"] == "initialize":
            # The SDK's server has to hear it as well, to be in the same state.
            heard = dict(kept.message, id=self._heard)
            self._kept.append(Kept(json.dumps(heard) + "\n", heard, heard=True))
        self._send(answer)
        return True

    def _negotiated(self, message: Message) -> str | None:
        """The version of a first handshake; None for one that isn't the first, or not valid."""
        known = self._data["handshake"]
        if self._era == "modern" or self._version or not self._is_valid(message, known[-1]):
            return None
        asked: str = message["params"]["protocolVersion"]
        newest: str = known[-1]
        return asked if asked in known else newest

    def _is_valid(self, message: Message, version: str) -> bool:
        numbers = self._data["takes"].get(version, {}).get(message["method"])
        schemas = [self._data["schemas"][number] for number in numbers or ()]
        return bool(schemas) and all(matches(message, schema, schema) for schema in schemas)

    def _answer(self, message: Message, version: str) -> str | None:
        number = self._data["answers"][version].get(message["method"])
        if number is not None:
            return _response(message, "result", self._data["results"][number])
        if message["method"] != "resources/list" or self._resources is None:
            return None
        page = self._resources((message.get("params") or {}).get("cursor"))
        if page is None:
            return None
        if page.failure:
            return _response(message, "error", {"code": INVALID_PARAMS, "message": page.failure})
        return _response(message, "result", _filled(self._data["pages"][version], page))

    def _refusal(self, message: Message, reason: str) -> str:
        version = _meta(message).get(VERSION_KEY, self._version)
        if message["method"] == "tools/call" and str(version) in self._data["refusals"]:
            template = json.dumps(self._data["refusals"][version])
            result = json.loads(template.replace(json.dumps(REASON), json.dumps(reason)))
            return _response(message, "result", result)
        return _response(message, "error", {"code": INTERNAL_ERROR, "message": reason})


def _filled(template: Message, page: Learned) -> Message:
    """A list result in the order of fields that the template has."""
    fields = list(template["resources"][0])
    items = [{name: item[name] for name in fields} for item in page.items]
    values = {"resources": items, "nextCursor": page.next_cursor}
    filled = {name: values.get(name, value) for name, value in template.items()}
    return {name: value for name, value in filled.items() if value is not None}


def parsed(line: str) -> Message | None:
    """The message in a line; None for one that the SDK's parser might read differently."""
    if len(line) > LONGEST_LINE or line.count("{") + line.count("[") > DEEPEST:
        return None
    try:
        message = json.loads(
            line, object_pairs_hook=_unique, parse_float=_refuse, parse_constant=_refuse
        )
    except ValueError:
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    if not isinstance(message.get("method", ""), str):
        return None
    if not isinstance(message.get("params"), (dict, type(None))):
        return None
    if "method" in message and ("result" in message or "error" in message):
        return None
    return message if "id" not in message or _is_id(message["id"]) else None


def _is_id(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < LARGEST_ID
    return isinstance(value, str)


def _unique(pairs: list[Any]) -> Message:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse(text: str) -> None:
    raise ValueError(text)


def _meta(message: Message) -> Message:
    meta = (message.get("params") or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _response(to: Message, kind: str, value: Message) -> str:
    message = {"jsonrpc": "2.0", "id": to["id"], kind: value}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"
