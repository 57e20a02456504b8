"""An index of an earlier format or recipe: answered from, then rebuilt without embedding."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict

import pytest

from local_rag.index.checksums import checksums_of
from local_rag.index.manifest import FORMAT_VERSION
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.settings import load_settings
from tests.calling import calls
from tests.conftest import Corpus, Quiet, Run
from tests.fake_ollama import FakeOllama

OUTDATED = "An earlier version of this program wrote the index, so it is rebuilt."
OTHER_RECIPE = "The program or its settings now index documents differently, so all are reindexed."


class Listening(Quiet):
    """Progress that keeps what was said before the first file, and how much was embedded then."""

    def __init__(self, ollama: FakeOllama) -> None:
        self.said: list[str] = []
        self.files = -1
        self._ollama = ollama

    def notice(self, text: str) -> None:
        assert self.files < 0
        self.said.append(text)

    def start(self, files: int) -> None:
        self.files = files


def make_format_three(store: Store) -> None:
    """Turns the live snapshot into one of the format before, which had no aliases."""
    snapshot = store.current()
    with closing(sqlite3.connect(snapshot.catalog)) as catalog, catalog:
        catalog.execute("ALTER TABLE files DROP COLUMN aliases")
    manifest = snapshot.path / "manifest.json"
    values = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.unlink()
    values["format"] = 3
    values["seals"] = {name: asdict(sum_) for name, sum_ in checksums_of(snapshot.path).items()}
    manifest.write_text(json.dumps(values), encoding="utf-8")


@pytest.fixture
def old(corpus: Corpus, store: Store, ollama: FakeOllama, run: Run) -> Store:
    corpus.write("a.md", "# A\n\nalpha\n")
    corpus.write("b.md", "# B\n\nbeta\n")
    run()
    make_format_three(store)
    ollama.texts.clear()
    return store


def test_an_index_of_the_format_before_is_answered_from_and_rebuilt_without_embedding(
    old: Store, ollama: FakeOllama
) -> None:
    name = old.current_name()
    with calls() as call:
        assert call("search_corpus", query="beta")["hits"][0]["path"] == "b.md"
    ollama.texts.clear()
    heard = Listening(ollama)
    report = run_ingest(load_settings(), Options(), heard)
    assert heard.said == [f"{OUTDATED} Nothing has to be embedded again."]
    assert report.notices == heard.said
    assert (report.new, report.embedded, report.exit_code) == (2, 0, 0)
    assert ollama.documents == []
    assert old.current_name() == report.published != name
    assert old.current().manifest.format == FORMAT_VERSION


def test_its_own_vectors_are_enough(old: Store, ollama: FakeOllama, run: Run) -> None:
    old.cache.unlink()
    report = run()
    assert (report.new, report.embedded, ollama.documents) == (2, 0, [])


def test_what_must_be_embedded_is_said_before_it_starts(
    old: Store, corpus: Corpus, ollama: FakeOllama
) -> None:
    corpus.write("c.md", "# C\n\ngamma\n")
    heard = Listening(ollama)
    report = run_ingest(load_settings(), Options(), heard)
    assert heard.said == [
        f"{OUTDATED} To embed: 1 of 3 chunks, about 1 s. Until then the old index is searched."
    ]
    assert (report.embedded, ollama.documents) == (1, ["title: C | text: # C\n\ngamma"])


def test_a_dry_run_says_so_too_and_changes_nothing(old: Store, run: Run) -> None:
    name = old.current_name()
    report = run(dry_run=True)
    assert (report.new, report.embedded, report.notices) == (2, 0, [OUTDATED])
    assert old.current_name() == name


def test_with_the_embedder_away_it_is_rebuilt_from_what_is_embedded(
    old: Store, ollama: FakeOllama, run: Run
) -> None:
    ollama.stop()
    report = run()
    assert (report.new, report.failed, report.exit_code) == (2, [], 1)
    assert old.current().manifest.format == FORMAT_VERSION


def test_another_recipe_says_what_it_costs_before_it_starts(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    run()
    monkeypatch.setenv("RAG_LANGUAGES", "de")
    heard = Listening(ollama)
    report = run_ingest(load_settings(), Options(), heard)
    assert heard.said == [f"{OTHER_RECIPE} Nothing has to be embedded again."]
    assert (report.changed, report.embedded) == (1, 0)
