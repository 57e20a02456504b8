from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from local_rag.cli.ingest import main
from local_rag.index.catalog import Catalog
from local_rag.index.checksums import checksums_of
from local_rag.index.snapshots import Store
from local_rag.index.vector_index import VectorRecord, vector_records
from local_rag.index.verify import Verdict, verify
from local_rag.ingest.vector_writer import VectorWriter
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama


@pytest.fixture
def built(corpus: Corpus, store: Store, ollama: FakeOllama, run: Run) -> Store:
    corpus.write("a.md", "# A\n\nalpha\n")
    corpus.write("b.md", "---\nlifecycle: superseded\n---\n# B\n\nbeta\n")
    run()
    return store


def in_catalogue(store: Store, sql: str) -> None:
    with closing(sqlite3.connect(store.current().catalog)) as database, database:
        database.executescript(sql)
    sum_again(store)


def sum_again(store: Store) -> None:
    """As if the program itself had gone wrong, and no disk."""
    snapshot = store.current()
    manifest = replace(snapshot.manifest, checksums=checksums_of(snapshot.path))
    (snapshot.path / "manifest.json").write_text(manifest.to_json(), encoding="utf-8")


def test_a_whole_index_has_no_findings(built: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(built) == Verdict((), files=2, compared=2)
    assert main(["--verify"]) == 0
    assert capsys.readouterr().out == "The index is intact.\n"


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("DELETE FROM words WHERE rowid = 1", "1 chunks in the word index, 2 in the manifest"),
        ("DELETE FROM chunks WHERE number = 1", "1 chunks in the catalog, 2 in the manifest"),
        ("UPDATE chunks SET last_line = 99", "notes:a.md: chunk .* says lines 1-99, is at"),
        (
            "UPDATE chunks SET first_line = 2",
            "notes:a.md: chunk .* says lines 2-3, is at 1-3",
        ),
        ("UPDATE chunks SET first_line = 3", "notes:a.md: chunk .* is not in lines 3-3 of the"),
        ("UPDATE chunks SET text = 'x'", "notes:a.md: chunk .* text differs from its file"),
        ("UPDATE files SET lifecycle = 'active'", "0 superseded chunks, 1 in the manifest"),
        ("UPDATE files SET root = 'x'", "x:a.md: its root is not in the manifest"),
        ("UPDATE chunks SET id = 'x' WHERE number = 1", "notes:a.md: chunk x has no vector"),
    ],
)
def test_each_disagreement_is_a_finding_that_a_repair_mends(
    built: Store, ollama: FakeOllama, sql: str, finding: str
) -> None:
    in_catalogue(built, sql)
    found = verify(built).findings
    assert [f for f in found if re.match(finding, f)], found
    ollama.texts.clear()
    assert main(["--verify"]) == 1
    assert main(["--repair"]) == 0
    assert main(["--verify"]) == 0
    assert ollama.documents == []


def test_a_text_that_is_not_the_files_on_disk_is_a_finding_that_a_repair_mends(
    built: Store, ollama: FakeOllama
) -> None:
    """The whole catalogue agrees with itself; only the file itself can tell."""
    in_catalogue(
        built,
        "UPDATE files SET text = replace(text, 'alpha', 'omega');"
        "UPDATE chunks SET text = replace(text, 'alpha', 'omega');",
    )
    found = verify(built).findings
    assert [re.sub(r"chunk \w+", "chunk", f) for f in found] == [
        "notes:a.md: the indexed text differs from the file",
        "notes:a.md: chunk is not in lines 1-3 of the file",
    ]
    assert main(["--repair"]) == 0
    assert verify(built).findings == ()


def test_a_file_that_is_another_by_now_tells_nothing_about_the_index(
    built: Store, corpus: Corpus, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.write("c.html", "<h1>C</h1>")  # converted
    run()
    (corpus.path / "a.md").unlink()
    corpus.write("b.md", "other")
    assert main(["--verify"]) == 0
    assert capsys.readouterr().out == (
        "The index is intact.\n3 of 3 files not compared: changed since then, or not plain text\n"
    )


def test_odd_encodings_and_line_ends_are_compared_as_they_were_read(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", b"# A\r\n\r\nalpha\r\nbeta\r\n")
    corpus.write("b.md", "\ufeff# Ä\n\nüber\n".encode("utf-16"))
    corpus.write("c.md", "# Straße\n\nüber die schöne Straße gehört\n".encode("cp1252"))
    corpus.write("d.txt", "one\x0btwo\x0cthree\u2028four\rfive\n")
    run()
    assert verify(store) == Verdict((), files=4, compared=4)


def test_a_vector_of_another_length_is_a_finding(
    built: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(VectorWriter.open(built.current().chroma)) as vectors:
        (record, *_) = _records(built)
        vectors.delete([record.id])
        vectors.add([record], [np.full(64, 0.5, dtype=np.float32)])
    sum_again(built)
    assert main(["--verify"]) == 1
    assert "has a vector that is not of length 1" in capsys.readouterr().out


def _records(store: Store) -> list[VectorRecord]:
    with closing(Catalog.open(store.current().catalog)) as catalog:
        return [r for f in catalog.files() for r in vector_records(f, catalog.chunks_of(f.number))]


def test_damage_is_a_finding(built: Store, capsys: pytest.CaptureFixture[str]) -> None:
    built.current().catalog.write_bytes(b"")
    assert main(["--verify", "--json"]) == 1
    assert "keywords.sqlite3" in capsys.readouterr().out


def test_without_an_index_there_is_nothing_to_verify(
    corpus: Corpus, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--verify"]) == 2
    assert "There is no index yet" in capsys.readouterr().err
    assert not store.path.exists()


def test_a_repair_keeps_the_embedder_that_the_index_has(built: Store, ollama: FakeOllama) -> None:
    ollama.stop()
    assert main(["--repair"]) == 1  # Ollama is away: that needs a person
    assert built.current().manifest.identity.kind == "ollama"
    assert verify(built) == Verdict((), files=2, compared=2)
