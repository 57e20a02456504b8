"""Commands whose output reaches nobody: an exit code and one line, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus, Run

REPORT = ["ingest.py", "--json"]
FINDINGS = ["ingest.py", "--verify"]
STATUS = ["-m", "local_rag", "status"]
CHECKED = ["tools/check_answers.py", "--queries", "1"]
CALIBRATED = ["tools/calibrate.py"]
DEMO = ["tools/demo.py"]
FAILURE = ["-m", "local_rag", "get", "none.md", "--json"]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="closes descriptors as a POSIX shell does")


@pytest.fixture(autouse=True)
def indexed(corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "# Alpha\n\nalpha\n")
    run()


def unread(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """The command with a pipe for its output whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    try:
        return subprocess.run(
            [sys.executable, *command],
            cwd=PROJECT_DIR, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(write)


def done(command: list[str], redirected: str) -> subprocess.CompletedProcess[bytes]:
    """The command as a shell runs it with its streams redirected."""
    line = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, *command]
    return subprocess.run(line, cwd=PROJECT_DIR, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("redirected", "why"),
    [(">/dev/full", "No space left on device"), (">&-", "it is closed")],
)
@pytest.mark.parametrize(
    ("command", "code"),
    [(REPORT, 3), (FINDINGS, 3), (STATUS, 2), (FAILURE, 2), (CHECKED, 2), (CALIBRATED, 2)],
)
def test_output_that_is_full_or_closed_is_one_line(
    command: list[str], code: int, redirected: str, why: str
) -> None:
    if "full" in redirected and not Path("/dev/full").exists():
        pytest.skip("no device here is always full")
    found = done(command, redirected)
    said = f"error: Could not write to standard output ({why}). Redirect it somewhere with space."
    assert (found.returncode, found.stderr.decode().splitlines()) == (code, [said])


def test_answers_cannot_be_checked_without_an_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "none"))
    found = done(CHECKED, "")
    said = f"error: There is no index yet in {tmp_path / 'none'}. Run ingest.py to build it."
    assert (found.returncode, found.stderr.decode().splitlines()) == (2, [said])


def test_a_demo_that_nobody_reads_ends_in_one_line() -> None:
    found = unread(DEMO)
    said = "error: Could not write to standard output (Broken pipe)."
    assert (found.returncode, b"Traceback" in found.stderr) == (2, False)
    assert found.stderr.decode().splitlines()[-1] == f"{said} Redirect it somewhere with space."


def test_a_reader_that_went_away_is_one_line() -> None:
    for command, code in ((REPORT, 3), (STATUS, 2), (CHECKED, 2)):
        found = unread(command)
        assert found.returncode == code
        assert b"Broken pipe" in found.stderr
        assert found.stderr.count(b"\n") == 1


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
def test_an_ingest_whose_log_is_full_or_closed_is_done_all_the_same(
    corpus: Corpus, redirected: str
) -> None:
    if "full" in redirected and not Path("/dev/full").exists():
        pytest.skip("no device here is always full")
    corpus.write("b.md", "beta\n")
    found = done(REPORT, redirected)
    assert found.returncode == 0
    assert b'"new": 1' in found.stdout
    assert b"b.md" in done(["-m", "local_rag", "search", "beta"], "").stdout


def test_nothing_is_said_into_a_file_of_the_store(corpus: Corpus) -> None:
    corpus.write("b.md", b"\0\1")  # is told on standard error, which is closed
    found = done(["ingest.py", "--verbose"], "<&- >&- 2>&-")
    assert found.returncode == 1
    assert done(FINDINGS, "").stdout == b"The index is intact.\n"
