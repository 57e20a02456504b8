"""Resources, their completion, and prompts, as clients meet them."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_rag.server.app import INSTRUCTIONS
from local_rag.server.prompts import PROMPTS
from local_rag.server.resource_list import plain_store_folder
from local_rag.settings import load_settings
from tests.conftest import Corpus, Run
from tests.server.test_stdio import RawClient, server


@pytest.fixture
def client(corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[RawClient]:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    for n in range(60):
        corpus.write(f"many/{n:02}.md", f"note {n}\n")
    corpus.write("sub/Ключ & 100%.md", "# Key\n\nalpha\n")
    corpus.write("old.md", "---\nlifecycle: superseded\nsuperseded_by: new.md\n---\nold\n")
    corpus.write("big.md", "x" * 99_000 + "\n" + "y" * 50_000)
    (corpus.path.parent / "secret.md").write_text("secret", encoding="utf-8")
    run()
    with server() as client:
        client.initialize()
        yield client


def texts(answer: dict[str, Any]) -> str:
    (content,) = answer["result"]["contents"]
    text: str = content["text"]
    return text


def test_every_document_is_listed_once_and_can_be_read(client: RawClient) -> None:
    cursor, uris = None, []
    while True:
        page = client.ask("resources/list", {"cursor": cursor} if cursor else {})["result"]
        uris += [resource["uri"] for resource in page["resources"]]
        cursor = page.get("nextCursor")
        if not cursor:
            break
    assert len(uris) == len(set(uris)) == 62
    (odd,) = [uri for uri in uris if "100" in uri]
    assert odd.isascii()
    assert texts(client.ask("resources/read", {"uri": odd})) == "# Key\n\nalpha\n"
    old = texts(client.ask("resources/read", {"uri": "corpus://notes/old.md"}))
    assert old.startswith("[This document is superseded by new.md; do not rely on it.]\n")
    big = texts(client.ask("resources/read", {"uri": "corpus://notes/big.md"}))
    assert big.endswith("\n[Cut. The rest: get_file(path='notes:big.md', start_line=2)]")
    (template,) = client.ask("resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "corpus://{root}/{+path}"


def test_no_uri_leads_out_of_the_index(client: RawClient) -> None:
    for path in ("../secret.md", "%2e%2e/secret.md", "..%2fsecret.md", "/etc/passwd", "", "\x00"):
        quoted = urllib.parse.quote(f"corpus://notes/{path}")
        inside = (f"corpus://notes/{path}", f"corpus://{path}", f"corpus://../notes/{path}")
        for uri in (*inside, f"file://{path}", quoted):
            error = client.ask("resources/read", {"uri": uri})["error"]
            assert error["message"].startswith("No indexed document has the URI")
    error = client.ask("resources/list", {"cursor": "nowhere"})["error"]
    assert error["message"] == "The cursor is not one of this list. Start again without it."


def test_a_missing_resource_has_the_code_of_the_clients_revision(
    corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "alpha")
    run()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {"uri": "corpus://notes/gone.md"}
    with server() as newer:
        error = newer.ask("resources/read", asked | {"_meta": meta})["error"]
    assert (error["code"], error["data"]) == (-32602, asked)
    with server() as older:
        older.initialize()
        error = older.ask("resources/read", asked)["error"]
    assert (error["code"], error["data"]) == (-32002, asked)


def complete(client: RawClient, ref: dict[str, Any], name: str, value: str, **given: str) -> Any:
    params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": value}}
    if given:
        params["context"] = {"arguments": given}
    return client.ask("completion/complete", params)["result"]["completion"]


def test_names_are_completed(client: RawClient) -> None:
    template = {"type": "ref/resource", "uri": "corpus://{root}/{+path}"}
    prompt = {"type": "ref/prompt", "name": "sum_up_document"}
    assert complete(client, template, "root", "no")["values"] == ["notes"]
    assert complete(client, template, "path", "sub/к", root="notes")["values"] == [
        "sub/Ключ & 100%.md"
    ]
    assert complete(client, template, "path", "", root="elsewhere")["values"] == []
    many = complete(client, template, "path", "many/")
    assert (len(many["values"]), many["total"], many["hasMore"]) == (50, 60, True)
    assert complete(client, prompt, "path", "big")["values"] == ["notes:big.md"]
    assert complete(client, prompt, "nothing", "x")["values"] == []


def test_a_prompt_takes_its_argument(client: RawClient) -> None:
    listed = client.ask("prompts/list")["result"]["prompts"]
    assert [prompt["name"] for prompt in listed] == [prompt.name for prompt in PROMPTS]
    asked = {"name": "answer_with_citations", "arguments": {"question": "Who is {0} on call?"}}
    (message,) = client.ask("prompts/get", asked)["result"]["messages"]
    assert "Who is {0} on call?" in message["content"]["text"]
    for wrong, said in (
        (
            {"name": "answer_with_citations"},
            "Argument 'question' is missing. It takes: What you want to know.",
        ),
        ({"name": "answer_with_citations", "arguments": {"q": "x"}}, "Unknown argument 'q'."),
        ({"name": "none"}, "There is no prompt 'none'."),
    ):
        assert client.ask("prompts/get", wrong)["error"]["message"].startswith(said)


def test_instructions_and_descriptions_are_short(client: RawClient) -> None:
    assert len(INSTRUCTIONS.encode()) < 2_000
    for tool in client.ask("tools/list")["result"]["tools"]:
        assert len(tool["description"].encode()) < 2_000
        assert "\n\n" not in tool["description"]


def test_schemas_are_valid_and_lean(client: RawClient) -> None:
    answer = client.ask("tools/list")["result"]["tools"]
    for tool in answer:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            assert "title" not in schema
    files = next(tool for tool in answer if tool["name"] == "get_file")
    assert "title" in files["outputSchema"]["properties"]
    assert len(json.dumps(answer)) < 20_000


@pytest.mark.parametrize(
    ("variables", "file", "is_plain"),
    [
        ({}, None, True),
        ({"RAG_STORE_DIR": "~/elsewhere", "RAG_EMBEDDER": "none"}, None, True),
        ({}, "store_dir = '/somewhere'\ncorpus_dir = ['/a', '/b']\n", True),
        ({"RAG_STORE_DIR": "/here"}, "store_dir = '/somewhere'\n", True),
        ({"RAG_STORE_DIR": "relative"}, None, False),
        ({"RAG_STORE_DIR": ""}, None, False),
        ({"RAG_EMBEDDER": "some"}, None, False),
        ({"RAG_MAX_FILE_MB": "2"}, None, False),
        ({}, "store_dir = 7\n", False),
        ({}, "stor_dir = '/x'\n", False),
        ({}, "[\n", False),
    ],
)
def test_the_store_is_found_early_where_the_settings_are_plain(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variables: dict[str, str],
    file: str | None,
    is_plain: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if file is not None:
        (tmp_path / "config.toml").write_text(file, encoding="utf-8")
        monkeypatch.setenv("RAG_CONFIG", str(tmp_path / "config.toml"))
    folder = plain_store_folder()
    assert (folder is not None) == is_plain
    if is_plain:
        assert folder == load_settings().store_dir
