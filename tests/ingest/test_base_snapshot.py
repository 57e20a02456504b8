"""Chroma looks at its database again when a byte of it has changed, and only then."""

from __future__ import annotations

import pytest

from local_rag.index.snapshots import Store
from local_rag.index.vector_index import VectorIndex
from local_rag.ingest.base_snapshot import PROOF_FILE as NAME
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the number of chunks whenever Chroma looks at a collection."""
    seen: list[int] = []
    real = VectorIndex.verify

    def verify(index: VectorIndex, expected: int) -> None:
        seen.append(expected)
        real(index, expected)

    monkeypatch.setattr(VectorIndex, "verify", verify)
    return seen


@pytest.fixture
def built(corpus: Corpus, ollama: FakeOllama, run: Run, looks: list[int]) -> list[int]:
    corpus.write("a.md", "alpha\n")
    run()
    looks.clear()
    return looks


def test_a_second_run_over_the_same_bytes_need_not_look(built: list[int], run: Run) -> None:
    run()
    run()
    run()
    assert built == [1]


def test_a_database_that_somebody_opened_is_looked_at_anew(
    built: list[int], run: Run, store: Store
) -> None:
    run()
    VectorIndex.open(store.current().chroma).close()
    run()
    run()
    assert built == [1, 1]


def test_damage_is_seen_after_a_proof(
    built: list[int], run: Run, store: Store, corpus: Corpus
) -> None:
    run()
    database = store.current().chroma / "chroma.sqlite3"
    database.write_bytes(b"no database")
    report = run()
    assert report.published
    assert "This run repairs it" in report.notices[0]


def test_a_proof_of_another_snapshot_or_a_broken_one_proves_nothing(
    built: list[int], run: Run, store: Store, corpus: Corpus
) -> None:
    run()
    (store.path / NAME).write_text("{}", encoding="utf-8")
    run()
    corpus.write("b.md", "beta\n")
    run()
    built.clear()
    run()
    assert built == [2]


def test_a_dry_run_leaves_no_proof(built: list[int], run: Run, store: Store) -> None:
    run(dry_run=True)
    assert not (store.path / NAME).exists()
