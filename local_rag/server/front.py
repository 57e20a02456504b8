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
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from local_rag.server.json_schema import matches

DATA = Path(__file__).parent.parent / "data" / "front.json"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
REASON = "{reason}"  # stands in the data for why no tool can be called
INTERNAL_ERROR = -32603
LONGEST_LINE = 100_000  # characters
DEEPEST = 100  # opening brackets; the SDK's parser refuses 200 levels and more
LARGEST_ID = 2**53

Message = Dict[str, Any]


class Kept(NamedTuple):
    """A line for the SDK's server. `message` is what it holds, None if that isn't certain.

    One that was `heard` is answered already, and only brings the SDK's server to the same state.
    """

    line: str
    message: Optional[Message]
    heard: bool = False


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
        self._kept: List[Kept] = []
        self._for_sdk: "queue.SimpleQueue[str]" = queue.SimpleQueue()
        self._era = ""  # "handshake" or "modern", as the first request decides; "unsure" for good
        self._version: Optional[str] = None  # as the handshake agreed
        self._heard = f"heard-{os.urandom(8).hex()}"  # the id of requests that were answered here

    def take(self, line: str) -> None:
        """Answers a line of the client's, or keeps it for the SDK's server."""
        with self._arrived:
            if self._handed_over:
                self._for_sdk.put(line)
                return
            message = parsed(line)
            if message is None and line.strip():
                self._era = "unsure"  # it may be anything, also a handshake
            if message is None or not self._answered(message):
                self._kept.append(Kept(line, message))
            self._begun = True
            self._arrived.notify()

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

    def refuse(self, reason: str) -> None:
        """Answers what waits for the SDK's server by saying why there is none."""
        with self._lock:
            waiting = [kept.message for kept in self._kept if not kept.heard and kept.message]
            self._kept = [kept for kept in self._kept if kept.heard]
            for message in waiting:
                if "id" in message and "method" in message:
                    self._send(self._refusal(message, reason))

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

    def _answered(self, message: Message) -> bool:
        """Answers a message if that is certain to be right."""
        if "id" not in message or "method" not in message or self._era == "unsure":
            return False
        opens = not self._era
        enveloped = VERSION_KEY in _meta(message)
        is_handshake = message["method"] == "initialize"
        if opens:
            self._era = "modern" if enveloped and not is_handshake else "handshake"
        if is_handshake:
            version = self._negotiated(message)
        elif (self._era == "modern") != enveloped:
            version = None  # an error, which the SDK words
        else:
            version = _meta(message)[VERSION_KEY] if enveloped else self._version
            if message["method"] == "ping" and not enveloped:
                version = version or self._data["handshake"][-1]
        result = self._result(message, version)
        if is_handshake:
            self._version, self._era = version, self._era if result else "unsure"
        if result is None:
            return False
        if opens or is_handshake:  # the SDK's server has to hear it to be in the same state
            heard = dict(message, id=self._heard)
            self._kept.append(Kept(json.dumps(heard) + "\n", heard, heard=True))
        self._send(_response(message["id"], "result", result))
        return True

    def _negotiated(self, message: Message) -> Optional[str]:
        """The version of a first handshake; None for one that isn't the first."""
        if self._era == "modern" or self._version is not None:
            return None
        params = message.get("params") or {}
        asked, known = params.get("protocolVersion"), self._data["handshake"]
        return asked if asked in known else known[-1]

    def _result(self, message: Message, version: object) -> Optional[Message]:
        if not isinstance(version, str) or version not in self._data["answers"]:
            return None
        number = self._data["answers"][version].get(message["method"])
        if number is None:
            return None
        schemas = [self._data["schemas"][i] for i in self._data["takes"][version][message["method"]]]
        result: Message = self._data["results"][number]
        return result if all(matches(message, schema, schema) for schema in schemas) else None

    def _refusal(self, message: Message, reason: str) -> str:
        version = _meta(message).get(VERSION_KEY) or self._version
        results = self._data["refusals"]
        if message.get("method") == "tools/call" and isinstance(version, str) and version in results:
            result = json.loads(json.dumps(results[version]).replace(json.dumps(REASON), json.dumps(reason)))
            return _response(message["id"], "result", result)
        return _response(message["id"], "error", {"code": INTERNAL_ERROR, "message": reason})


def parsed(line: str) -> Optional[Message]:
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


def _unique(pairs: List[Any]) -> Message:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse(text: str) -> None:
    raise ValueError(text)


def _meta(message: Message) -> Message:
    meta = (message.get("params") or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _response(id_: object, kind: str, value: Message) -> str:
    message = {"jsonrpc": "2.0", "id": id_, kind: value}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"
