"""Each command returns the code that the table, and so --help, gives for what happened."""

from __future__ import annotations

import json

import pytest

from local_rag.cli.exit_codes import (
    ANSWERED,
    ATTENTION,
    FAILED,
    INTACT,
    NO_INDEX,
    NO_MATCH,
    NOTHING_DONE,
    PROBLEMS,
    PUBLISHED,
)
from local_rag.cli.ingest import main as ingest
from local_rag.cli.query import main as query
from local_rag.index.snapshots import Store
from tests.conftest import Corpus


@pytest.fixture(autouse=True)
def keywords_only(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.md", "# Alpha\n\nalpha\n")


def test_what_is_left_out_by_choice_or_by_kind_needs_no_person(corpus: Corpus) -> None:
    corpus.write("hidden.md", "---\nrag: false\n---\nhidden\n")
    corpus.write("image.png", b"no document")
    corpus.write("empty.md", "")
    corpus.write("key.txt", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n")
    assert ingest([]) == PUBLISHED
    assert ingest([]) == PUBLISHED  # nothing to publish


def test_a_document_that_cannot_be_read_needs_a_person_each_time(corpus: Corpus) -> None:
    corpus.write("broken.docx", b"no archive")
    assert ingest([]) == ATTENTION
    assert ingest([]) == ATTENTION


def test_without_a_folder_nothing_can_be_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RAG_CORPUS_DIR")
    assert ingest(["--json"]) == NOTHING_DONE
    assert json.loads(capsys.readouterr().out)["exit_code"] == NOTHING_DONE


def test_verify_tells_an_intact_index_from_a_damaged_one_and_from_none(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ingest(["--verify", "--json"]) == NO_INDEX
    assert json.loads(capsys.readouterr().out)["exit_code"] == NO_INDEX
    assert ingest([]) == PUBLISHED
    assert ingest(["--verify"]) == INTACT
    assert capsys.readouterr().out == "The index is intact.\n"
    catalog = store.current().catalog
    catalog.chmod(0o600)
    catalog.write_bytes(catalog.read_bytes()[:-100])
    assert ingest(["--verify"]) == PROBLEMS
    *findings, last = capsys.readouterr().out.splitlines()
    assert (len(findings), last) == (1, "To repair it: ingest.py --repair")
    assert ingest(["--repair"]) == PUBLISHED
    assert ingest(["--verify"]) == INTACT


def test_a_query_tells_an_answer_from_no_match_and_from_a_failure() -> None:
    assert query(["search", "alpha"]) == FAILED  # no index yet
    assert ingest([]) == PUBLISHED
    assert query(["search", "alpha"]) == ANSWERED
    assert query(["search", "nothing-like-it"]) == NO_MATCH
    assert query(["get", "b.md"]) == FAILED


def test_a_status_without_configured_folders_claims_no_removal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ingest([]) == PUBLISHED
    monkeypatch.delenv("RAG_CORPUS_DIR")
    capsys.readouterr()
    assert query(["status", "--json"]) == ANSWERED
    status = json.loads(capsys.readouterr().out)
    assert [root["name"] for root in status["roots"]] == ["notes"]
    assert (status["changes"]["gone"], status["notices"]) == (0, [])
