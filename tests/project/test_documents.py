"""What the documents name is what the code has, both ways."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from local_rag.cli.exit_codes import INGEST, TERMINAL, VERIFY, spelled
from local_rag.cli.ingest import make_parser as ingest_parser
from local_rag.cli.query import make_parser as query_parser
from local_rag.settings import PROJECT_DIR, Settings
from local_rag.tools.toolset import TOOLS

DOCUMENTS = [*PROJECT_DIR.glob("*.md"), *(PROJECT_DIR / "docs").glob("*.md")]
PROTOCOL = {"tools/list", "tools/call", "resources/list"}
FOREIGN = {"--scope", "--get"}  # options of claude and git


def read(name: str) -> str:
    return (PROJECT_DIR / name).read_text(encoding="utf-8")


def section(title: str, document: str = "docs/reference.md") -> str:
    """A section of a document, up to the next heading of any level."""
    return re.split(r"(?m)^#+ ", read(document).partition(f"# {title}\n")[2])[0]


def first_cells(text: str) -> list[str]:
    """The backquoted first cell of each row of a table."""
    return re.findall(r"(?m)^\| `([^`]+)` \|", text)


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    named = {option for action in parser._actions for option in action.option_strings}
    return {option for option in named if option.startswith("--")} - {"--help"}


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(group.choices)


def test_every_option_of_ingest_is_in_the_reference() -> None:
    assert first_cells(section("`ingest.py`")) == [
        option
        for option in (a.option_strings[-1] for a in ingest_parser()._actions)
        if option != "--help"
    ]


def test_every_command_of_the_terminal_is_in_the_reference_with_its_options() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)[^`]*` \| ([^|]*)\|", section("`python -m local_rag`"))
    named = {name: set(re.findall(r"--[a-z-]+", options)) for name, options in rows}
    commands = commands_of(query_parser())
    assert named == {name: options_of(p) - {"--json"} for name, p in commands.items()}


def test_the_exit_codes_are_those_of_the_code_and_of_the_help() -> None:
    rows = re.findall(r"(?m)^\| `([^`]+)` \| (\d) \| ([^|]+) \|", section("Exit codes"))
    tables = {"ingest.py": INGEST, "ingest.py --verify": VERIFY, "python -m local_rag": TERMINAL}
    assert rows == [
        (command, str(code), meaning)
        for command, codes in tables.items()
        for code, meaning in codes.items()
    ]
    epilogs = ingest_parser().epilog or "", query_parser().epilog or ""
    assert spelled(INGEST) in epilogs[0]
    assert spelled(VERIFY) in epilogs[0]
    assert spelled(TERMINAL) in epilogs[1]


def test_the_readme_has_the_exit_codes_of_ingest() -> None:
    rows = re.findall(r"(?m)^\| (\d) \| ([^|]+) \|", section("What ingest says", "README.md"))
    assert rows == [(str(code), meaning) for code, meaning in INGEST.items()]


def test_every_setting_is_in_the_reference_with_its_default() -> None:
    rows = re.findall(r"(?m)^\| `(RAG_\w+)` \| `?([^`|]*?)`? ?\|", section("Settings"))
    assert sorted(rows) == sorted(
        (f"RAG_{name.upper()}", default_of(field)) for name, field in Settings.model_fields.items()
    )


def default_of(field: FieldInfo) -> str:
    return f"{field.default:g}" if isinstance(field.default, float) else str(field.default or "")


def test_the_readme_lists_every_tool() -> None:
    assert first_cells(section("The tools", "README.md")) == list(TOOLS)


def test_every_script_is_in_the_reference() -> None:
    scripts = (PROJECT_DIR / "tools").glob("*.py")
    runnable = {f"tools/{s.name}" for s in scripts if "__main__" in s.read_text(encoding="utf-8")}
    assert set(first_cells(section("Scripts"))) == runnable


def test_every_target_of_make_is_in_the_guide_for_contributors_and_no_other_is_named() -> None:
    (line,) = re.findall(r"(?m)^\.PHONY: (.+)$", read("Makefile"))
    assert set(re.findall(r"(?m)^\| `make (\w+)`", read("CONTRIBUTING.md"))) == set(line.split())
    named = re.findall(r"(?m)(?:^|`)make (\w+)", "\n".join(map(read_path, DOCUMENTS)))
    assert set(named) <= set(line.split())


def test_every_tool_and_argument_is_in_the_reference() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([^|]*)\|", section("The tools"))
    named = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}
    assert {name: sorted(arguments) for name, arguments in named.items()} == {
        name: sorted(tool.arguments.model_fields) for name, tool in TOOLS.items()
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_nothing_that_is_not_there(document: Path) -> None:
    text = read_path(document)
    settings = {f"RAG_{name.upper()}" for name in Settings.model_fields} | {"RAG_CONFIG"}
    assert set(re.findall(r"\bRAG_[A-Z_]+\b", text)) - {"RAG_"} <= settings
    paths = re.findall(r"`(?:python )?((?:[a-z_]+/)+[\w.-]*|\w+\.py)[`:]", text)
    homes = (PROJECT_DIR, PROJECT_DIR / "local_rag")  # a wing is named without its package
    tests = {path.name for path in (PROJECT_DIR / "tests").rglob("test_*.py")}
    gone = [path for path in paths if not any((home / path).exists() for home in homes)]
    assert [path for path in gone if path not in PROTOCOL | tests] == []
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= known_options()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []


def read_path(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def known_options() -> set[str]:
    """The options of our commands, and those that the documents name of other programs."""
    parsers = [ingest_parser(), *commands_of(query_parser()).values()]
    ours = {option for parser in parsers for option in options_of(parser)}
    scripts = "\n".join(read_path(path) for path in (PROJECT_DIR / "tools").glob("*.py"))
    return ours | set(re.findall(r'"(--[a-z-]+)"', scripts)) | FOREIGN | {"--help"}


def test_the_architecture_has_a_row_for_every_wing() -> None:
    wings = [path.parent.name for path in (PROJECT_DIR / "local_rag").glob("*/__init__.py")]
    named = first_cells(section("The wings", "ARCHITECTURE.md"))
    assert sorted(named) == sorted(f"{wing}/" for wing in wings)


def test_the_architecture_is_short_enough_to_be_read() -> None:
    assert len(read("ARCHITECTURE.md").split()) <= 900
