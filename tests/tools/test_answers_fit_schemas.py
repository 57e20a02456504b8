"""Every answer fits the schema that its tool declares, and every declared field is ever used."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from local_rag.server.schemas import lean_schema, listed, listed_tools
from local_rag.settings import Settings, load_settings
from local_rag.tools.toolset import TOOLS, Toolset, open_toolset
from tests.conftest import Corpus, Run
from tests.documents.formats.test_pdf import pdf_file
from tests.fake_ollama import FakeOllama

Specs = Toolset


@pytest.fixture
def specs(corpus: Corpus, ollama: FakeOllama, run: Run) -> Iterator[Specs]:
    """Toolset over documents of every kind, some of which have changed since they were indexed."""
    filling = "some words that fill a line and say nothing else\n" * 30
    corpus.write("a.md", f"# Alpha\n\nalpha needle\n\n## Beta\n\n{filling}")
    corpus.write(
        "long.md", "".join(f"# Part {n}\n\nneedle{n}x {filling[:200]}\n" for n in range(150))
    )
    corpus.write("line.md", "needle " * 5_000)
    corpus.write("old.md", "---\nlifecycle: superseded\nsuperseded_by: a.md\n---\nretired needle\n")
    corpus.write("odd.md", "---\nlifecycle: odd\n---\nplain text without a heading\n")
    corpus.write("a.pdf", pdf_file("pdf needle", "second page"))
    corpus.write("binary.md", b"\0\1\2")
    for name in ("changed.md", "gone.md"):
        corpus.write(name, f"{name} needle\n")
    git = ("git", "-C", str(corpus.path), "-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *command], check=True)
    run()
    corpus.write("changed.md", "changed needle, and more of it\n")
    corpus.write("new.md", "new\n")
    (corpus.path / "gone.md").unlink()
    tools = open_toolset(load_settings())
    yield tools
    tools.close()


def closed(schema: Any) -> Any:
    """A schema that lets no field through which it does not name."""
    if isinstance(schema, dict):
        named = {"additionalProperties": False} if "properties" in schema else {}
        return named | {key: closed(value) for key, value in schema.items()}
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


def checked(specs: Specs, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, as it is on the wire, after a look at its schema."""
    answer = specs.call(tool, arguments)
    assert not answer.is_error, answer.text
    structured: dict[str, Any] = json.loads(json.dumps(answer.structured, allow_nan=False))
    tool_listed = listed(TOOLS[tool])
    assert tool_listed.output_schema
    jsonschema.validate(arguments, tool_listed.input_schema, jsonschema.Draft202012Validator)
    jsonschema.validate(
        structured, closed(tool_listed.output_schema), jsonschema.Draft202012Validator
    )
    return structured


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def answers(specs: Specs, ollama: FakeOllama) -> Iterator[tuple[str, dict[str, Any]]]:
    """Answers of every tool: usual ones, and those in which something is missing or odd."""

    def ask(tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return tool, checked(specs, tool, **arguments)

    everything = ask("search_corpus", query="needle", limit=20, include_superseded=True)
    yield everything
    yield ask("search_corpus", query="needle", limit=999, tags=[], mode="keyword")
    yield ask("search_corpus", query="zzz qqq", mode="keyword")
    yield ask("search_corpus", query="needle", path="nowhere/*")
    yield ask("search_corpus", query="zzz qqq vvv", limit=1)
    yield ask("search_corpus", query="needle", path="a.pdf")
    yield ask("search_corpus", query="needle", path="line.md")
    yield ask("fetch", ids=ids(everything[1])[:10], before=9, after=9)
    yield ask("fetch", ids=ids(checked(specs, "search_corpus", query="needle", path="a.pdf")))
    yield ask("fetch", ids=["0123456789abcdef", "never an id"])
    for path in ("old.md", "gone.md", "changed.md"):
        found = checked(specs, "search_corpus", query="needle", path=path, include_superseded=True)
        yield ask("fetch", ids=ids(found))
    for path in (
        "a.md",
        "long.md",
        "line.md",
        "old.md",
        "odd.md",
        "a.pdf",
        "changed.md",
        "gone.md",
    ):
        yield ask("get_file", path=path)
        yield ask("outline", path=path)
    yield ask("get_file", path="line.md", start_column=99)
    yield ask("get_file", path="a.md", start_line=-1, end_line=3)
    yield ask("outline", path="a.md", start_line=99)
    yield ask("list_files")
    yield ask("list_files", limit=1)
    yield ask("list_files", glob="nowhere/*", sort="size")
    for more in ({}, {"context": 2, "limit": 200}, {"include_superseded": True}, {"regex": True}):
        yield ask("grep_corpus", pattern="needle", **more)
    yield ask("grep_corpus", pattern="needle", glob="old.md", include_superseded=True)
    yield ask("grep_corpus", pattern="nowhere at all", glob="nowhere")
    yield ask("corpus_status")
    ollama.stop()
    yield ask("search_corpus", query="needle")
    yield ask("corpus_status")


def test_every_answer_fits_its_schema_and_every_field_is_used(
    specs: Specs, ollama: FakeOllama
) -> None:
    seen: dict[str, set[str]] = {name: set() for name in TOOLS}
    for tool, answer in answers(specs, ollama):
        seen[tool] |= set(fields(answer))
    for name, spec in TOOLS.items():
        declared = set(declared_fields(lean_schema(spec.result)))
        assert declared - seen[name] == set(), name


def fields(answer: Any) -> Iterator[str]:
    for item in answer if isinstance(answer, list) else [answer]:
        if isinstance(item, dict):
            yield from item
            for value in item.values():
                yield from fields(value)


def declared_fields(schema: dict[str, Any]) -> Iterator[str]:
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part["properties"]


def test_what_says_no_is_said_in_every_edge_case(specs: Specs, ollama: FakeOllama) -> None:
    for path, stale, lifecycle in (
        ("a.md", None, None),
        ("changed.md", True, None),
        ("gone.md", True, None),
        ("old.md", None, "superseded"),
    ):
        found = checked(specs, "search_corpus", query="needle", path=path, include_superseded=True)
        hit = found["hits"][0]
        assert (hit.get("stale"), hit.get("lifecycle")) == (stale, lifecycle)
    assert checked(specs, "get_file", path="changed.md")["state"] == "changed"
    assert checked(specs, "get_file", path="gone.md")["state"] == "gone"
    assert checked(specs, "outline", path="gone.md")["stale"] is True
    assert checked(specs, "grep_corpus", pattern="gone.md")["files"][0]["stale"] is True


def test_the_schemas_themselves_are_valid_and_lean(settings: Settings) -> None:
    for tool in listed_tools():
        assert tool.output_schema
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert not {'"anyOf"', '"null"', '"maxLength"'} & set(json.dumps(schema).split())
        assert tool.input_schema["additionalProperties"] is False
        for described in tool.input_schema["properties"].values():
            assert described["description"]
    tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed_tools()]
    assert len(json.dumps(tools).encode()) < 15_500
