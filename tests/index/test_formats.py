"""An index written by a program of before is opened and answers."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_rag.index.manifest import FORMAT_VERSION, OLDEST_READ
from local_rag.settings import PROJECT_DIR
from tests.calling import Call, calls

STORES = PROJECT_DIR / "tests" / "stores"
FORMATS = range(OLDEST_READ, FORMAT_VERSION + 1)


@pytest.fixture(params=FORMATS)
def call(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Call]:
    with closing(tarfile.open(STORES / f"format-{request.param}.tar.gz")) as archive:
        archive.extractall(tmp_path / "store", filter="data")
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("RAG_CORPUS_DIR", str(tmp_path))
    with calls() as made:
        yield made


def test_a_store_of_every_format_is_kept() -> None:
    kept = sorted(path.name for path in STORES.glob("*.tar.gz"))
    assert kept == [f"format-{number}.tar.gz" for number in FORMATS]


def test_a_question_is_answered_from_vectors_and_words(call: Call) -> None:
    answer = call("search_corpus", query="Where do we keep replacement bulbs?")
    hit = answer["hits"][0]
    assert answer["notices"] == []
    assert (hit["root"], hit["path"], hit["stale"]) == ("notes", "harbour.md", True)
    assert hit["cosine"] > 0.3


def test_superseded_documents_stay_hidden(call: Call) -> None:
    found = call("search_corpus", query="tide table heights")["hits"]
    assert [hit["path"] for hit in found] == ["guides/tides.md", "harbour.md"]


def test_every_other_tool_answers(call: Call) -> None:
    assert call("list_files")["total"] == 3
    assert call("grep_corpus", pattern="boathouse")["total"] == 1
    page = call("get_file", path="tides.md")
    assert (page["path"], page["state"]) == ("guides/tides.md", "gone")
    ids = [hit["id"] for hit in call("search_corpus", query="boathouse")["hits"]]
    assert call("fetch", ids=ids)["documents"][0]["path"] == "harbour.md"
    assert call("corpus_status")["files"] == 3
    assert "No indexed document" in call("get_file", path="no such name")["error"]


@pytest.mark.parametrize("call", [4], indirect=True)
def test_an_outline_is_answered(call: Call) -> None:
    (entry, *_) = call("outline", path="harbour.md")["entries"]
    assert entry == {"level": 1, "heading": "Harbour lights", "start_line": 6, "end_line": 12}


@pytest.mark.parametrize("call", [3], indirect=True)
def test_what_format_3_did_not_keep_is_said(call: Call) -> None:
    said = call("outline", path="harbour.md")["error"]
    assert said == (
        "An earlier version wrote this index; it has no tables of contents. "
        "Run ingest.py, or read the document with get_file."
    )
