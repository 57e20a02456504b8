"""What the documents name is what the code has, both ways."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from local_rag.cli.exit_codes import INGEST, TERMINAL, VERIFY, spelled
from local_rag.cli.ingest import make_parser as ingest_parser
from local_rag.cli.query import make_parser as query_parser
from local_rag.settings import PROJECT_DIR, Settings
from local_rag.tools.toolset import TOOLS

DOCUMENTS = [
    *(PROJECT_DIR / name for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md",
                                      "CONTRIBUTING.md")),
    *sorted((PROJECT_DIR / "docs").glob("*.md")),
]  # fmt: skip
PROTOCOL = {"tools/list", "tools/call"}
REFERENCE = (PROJECT_DIR / "docs" / "reference.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """A section of the reference, up to the next heading of any level."""
    return re.split(r"(?m)^#+ ", REFERENCE.partition(f"# {title}\n")[2])[0]


def first_cells(text: str) -> list[str]:
    """What stands in backquotes in the first cell of each row."""
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


def test_every_setting_is_in_the_reference() -> None:
    names = [f"RAG_{name.upper()}" for name in Settings.model_fields]
    assert sorted(first_cells(section("Settings"))) == sorted(names)


def test_every_tool_and_argument_is_in_the_reference() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| ([^|]*)\|", section("The tools"))
    named = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}
    assert {name: sorted(arguments) for name, arguments in named.items()} == {
        name: sorted(tool.arguments.model_fields) for name, tool in TOOLS.items()
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_nothing_that_is_not_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    settings = {f"RAG_{name.upper()}" for name in Settings.model_fields} | {"RAG_CONFIG"}
    assert set(re.findall(r"\bRAG_[A-Z_]+\b", text)) - {"RAG_"} <= settings
    paths = re.findall(r"`((?:local_rag|tests|tools|docs|requirements)/[\w./]+)`", text)
    homes = (PROJECT_DIR, PROJECT_DIR / "local_rag")  # a wing is named without its package
    gone = [path for path in paths if not any((home / path).exists() for home in homes)]
    assert [path for path in gone if path not in PROTOCOL] == []
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_modules_that_the_architecture_names_exist() -> None:
    text = (PROJECT_DIR / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+/(?:[a-z_]+/)?(?:[a-z_]+\.py)?)`", text))
    named -= {"local_rag/", "formats/"}
    assert [n for n in sorted(named) if not (PROJECT_DIR / "local_rag" / n).exists()] == []
    wings = {path.name for path in (PROJECT_DIR / "local_rag").iterdir() if path.is_dir()}
    assert {f"{wing}/" for wing in wings - {"data", "__pycache__"}} <= named


def test_the_architecture_is_short_enough_to_be_read() -> None:
    assert len((PROJECT_DIR / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) <= 900
