"""The tools at a terminal."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from local_rag.cli.query import main
from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus, Run


@pytest.fixture(autouse=True)
def indexed(corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("sub/a.md", "# Alpha\n\nalpha E-1042\n")
    run()


def test_a_search_prints_what_the_tool_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "E-1042", "--limit", "1", "--mode", "keyword", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [hit["path"] for hit in answer["hits"]] == ["sub/a.md"]
    assert main(["search", "E-1042"]) == 0
    assert "notes:sub/a.md lines 1-3" in capsys.readouterr().out
    assert main(["search", "nothing-like-it"]) == 1


def test_a_file_and_the_status_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "a.md", "--start-line", "3"]) == 0
    assert capsys.readouterr().out.endswith("\nalpha E-1042\n\n")
    assert main(["status"]) == 0
    assert "1 files, 1 chunks" in capsys.readouterr().out


def test_a_failure_is_one_line_and_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "b.md"]) == 2
    assert capsys.readouterr().err.startswith("error: No indexed document has the path 'b.md'.")
    assert main(["get", "b.md", "--json"]) == 2
    assert "No indexed document" in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize(
    ("command", "about"),
    [
        (["ingest.py"], "Brings the index up to date with your documents."),
        (["-m", "local_rag"], "Searches and reads your indexed documents, and says"),
    ],
)
def test_help_tells_a_person_what_the_command_is_for(command: list[str], about: str) -> None:
    line = [sys.executable, *command, "--help"]
    found = subprocess.run(line, cwd=PROJECT_DIR, capture_output=True, text=True, check=True)
    paragraphs = [" ".join(part.split()) for part in found.stdout.split("\n\n")]
    assert paragraphs[1].startswith(about)
    assert "Leaves out" not in found.stdout


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "local_rag", "search", "alpha"]
    done = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"sub/a.md" in done.stdout
