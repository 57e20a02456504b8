"""The front: it answers what the SDK's server would, and loses nothing of the rest."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import local_rag
from local_rag.server import front_data
from local_rag.server.front import DATA, Front, Learned, load_data
from local_rag.server.trouble import PythonTooOld, trouble_of
from local_rag.settings import PROJECT_DIR
from tests.server import exchanges
from tests.server.exchanges import (
    Exchange,
    answers_of_sdk,
    answers_with_front,
    odd_beginning,
    random_exchange,
    settled,
)

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}
MODERN = {"_meta": exchanges.MODERN}


def line(method: str, id_: object = None, params: dict[str, Any] | None = None) -> str:
    asked = {} if id_ is None else {"id": id_}
    return json.dumps({"jsonrpc": "2.0", **asked, "method": method, "params": params or {}}) + "\n"


def ids(answers: list[str]) -> list[object]:
    return [json.loads(answer)["id"] for answer in answers]


def test_the_prepared_answers_are_those_of_the_sdk_for_every_version() -> None:
    stored = DATA.read_text(encoding="utf-8")
    assert stored == front_data.as_text(front_data.render()), (
        "front.json is stale; run: python tools/build_front.py"
    )


def check(exchange: Exchange) -> None:
    with_front = settled(answers_with_front(exchange), exchange)
    assert with_front == settled(answers_of_sdk(exchange), exchange)


@pytest.mark.parametrize("seed", range(60))
def test_an_exchange_is_answered_as_by_the_sdk_alone(seed: int) -> None:
    check(random_exchange(seed))


@pytest.mark.parametrize("seed", range(40))
def test_odd_first_lines_are_taken_as_by_the_sdk_alone(seed: int) -> None:
    check(odd_beginning(seed))


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(7))
def test_hundreds_of_exchanges_are_answered_as_by_the_sdk_alone(hundred: int) -> None:
    for seed in range(100):
        check(random_exchange(1_000 + 100 * hundred + seed))


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(20))
def test_thousands_of_odd_first_lines_are_taken_as_by_the_sdk_alone(hundred: int) -> None:
    for seed in range(100):
        check(odd_beginning(1_000 + 100 * hundred + seed))


def test_what_needs_no_index_is_answered_while_other_calls_wait() -> None:
    answers: list[str] = []
    front = Front(load_data(), answers.append)
    front.take(line("initialize", 0, HELLO))
    front.take(line("notifications/initialized"))
    front.take(line("tools/call", 1, {"name": "search_corpus", "arguments": {"query": "x"}}))
    front.take(line("resources/list", 2))
    front.take(line("tools/list", 3))
    front.take(line("ping", 4))
    assert ids(answers) == [0, 3, 4]
    front.learn(lambda cursor: Learned((), None))
    assert ids(answers) == [0, 3, 4, 2]
    front.take(line("resources/list", 5))
    assert ids(answers) == [0, 3, 4, 2, 5]
    front.hand_over()
    front.take(line("tools/list", 6))
    assert front.end()
    heard, initialized, call, tools = (json.loads(front.readline()) for _ in range(4))
    assert (heard["method"], heard["params"]) == ("initialize", HELLO)
    assert initialized["method"] == "notifications/initialized"
    assert (call["id"], tools["id"]) == (1, 6)
    assert front.readline() == ""
    front.write(f'{{"jsonrpc":"2.0","id":"{heard["id"]}","result":{{}}}}\n')
    assert ids(answers) == [0, 3, 4, 2, 5]


def test_a_client_without_a_handshake_gets_its_answers_as_early() -> None:
    answers: list[str] = []
    front = Front(load_data(), answers.append)
    for number, method in enumerate(("server/discover", "tools/list", "prompts/list")):
        front.take(line(method, number, MODERN))
    assert ids(answers) == [0, 1, 2]
    assert all("result" in json.loads(answer) for answer in answers)
    assert not front.end()


def test_a_call_that_is_cancelled_before_the_sdk_is_loaded_is_never_answered() -> None:
    call = {"name": "search_corpus", "arguments": {}}
    lines = [
        line("initialize", 0, HELLO),
        line("tools/call", 2, call),
        line("tools/call", 1, call),
        line("notifications/cancelled", params={"requestId": 1}),
    ]
    exchange = Exchange(("".join(lines).encode("utf-8"),), 1, len(lines))
    assert ids(answers_with_front(exchange)) == [0, 2]


@pytest.mark.parametrize("params", [{}, MODERN], ids=["handshake", "modern"])
def test_while_there_is_no_server_each_call_is_told_why(params: dict[str, Any]) -> None:
    answers: list[str] = []
    front = Front(load_data(), answers.append)
    if not params:
        front.take(line("initialize", 0, HELLO))
    front.take(line("tools/list", 1, params))
    front.take(line("tools/call", 2, {"name": "fetch", **params}))
    front.take(line("prompts/get", 3, {"name": "x", **params}))
    assert front.refuse('The package "mcp" is missing.')
    *_, call, prompt = (json.loads(answer) for answer in answers)
    assert (call["id"], call["result"]["isError"]) == (2, True)
    assert call["result"]["content"] == [{"type": "text", "text": 'The package "mcp" is missing.'}]
    assert (prompt["id"], prompt["error"]["message"]) == (3, 'The package "mcp" is missing.')
    front.take(line("tools/call", 4, {"name": "fetch", **params}))
    front.hand_over()
    assert [json.loads(front.readline())["method"] for _ in range(2)][1] == "tools/call"


def test_what_is_missing_is_said_with_what_mends_it() -> None:
    python, project = sys.executable, PROJECT_DIR
    own = project / ".venv" / "bin" / "python"
    missing = trouble_of(ModuleNotFoundError("No module named 'mcp'", name="mcp.server"))
    if own.is_file() and Path(python).parent != own.parent:
        remedy = f"Register {own} as the server's command, and restart the client."
    else:
        remedy = f'Run: "{python}" -m pip install -r "{project / "requirements.txt"}"'
    assert missing == f"The package mcp is not installed for {python}. {remedy}"
    assert trouble_of(PythonTooOld()).startswith("The server needs Python 3.11 or newer; ")
    assert trouble_of(OSError("disk\nfull")).startswith(
        "The server could not be loaded (OSError: disk full). Install its packages again: "
    )


def test_an_old_interpreter_can_run_the_front() -> None:
    package = Path(local_rag.__file__).parent
    names = ("__init__", "front", "json_schema", "start", "stdin", "stdout", "trouble")
    files = [package / "server" / f"{name}.py" for name in names]
    for file in (*files, package / "__init__.py", PROJECT_DIR / "server.py"):
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))
