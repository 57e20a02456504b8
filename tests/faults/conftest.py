"""Stores that are built once and copied: all fault tests have their corpus in the same place.

A store names the places of its documents, so it can be copied only to where it was built.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.settings import load_settings
from tests.conftest import Corpus, Quiet, forget_person
from tests.fake_ollama import FakeOllama
from tests.faults.forked import start_forking
from tests.faults.scenes import Scene, State

start_forking()


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of every fault test's corpus and store."""
    return tmp_path_factory.mktemp("faults") / "place"


@pytest.fixture
def corpus(place: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """An empty corpus there, as the settings' own."""
    return _settled(place, monkeypatch)


@pytest.fixture
def store(place: Path) -> Store:
    return Store(place / "store")


@dataclass(frozen=True)
class Built:
    """A corpus and its store, kept aside to be copied. `before` is what an older snapshot says."""

    folder: Path
    state: State
    before: State


def _settled(place: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    monkeypatch.setenv("RAG_CORPUS_DIR", str(place / "notes"))
    monkeypatch.setenv("RAG_STORE_DIR", str(place / "store"))
    return Corpus(place / "notes")


def _built(
    place: Path, folder: Path, fill: Callable[[Scene, Callable[[], object]], State]
) -> Built:
    ollama = FakeOllama()
    with pytest.MonkeyPatch.context() as patch:
        forget_person(patch, folder / "home")
        patch.setenv("OLLAMA_HOST", ollama.host)
        scene = Scene(_settled(place, patch))
        before = fill(scene, lambda: run_ingest(load_settings(), Options(), Quiet()))
    ollama.stop()
    place.rename(folder / "place")
    return Built(folder / "place", scene.state, before)


def _two_snapshots(scene: Scene, run: Callable[[], object]) -> State:
    scene.change(0)
    scene.change(1)
    run()
    before = dict(scene.state)
    scene.change(2)
    run()
    return before


def _many_chunks(scene: Scene, run: Callable[[], object]) -> State:
    before = _two_snapshots(scene, run)
    part = "word " * 100
    scene.corpus.write("many.md", "".join(f"## Part {n}\n\n{part} p{n}\n\n" for n in range(1100)))
    run()
    return before


@pytest.fixture(scope="session")
def small_store(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return _built(place, tmp_path_factory.mktemp("small"), _two_snapshots)


@pytest.fixture(scope="session")
def big_store(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return _built(place, tmp_path_factory.mktemp("big"), _many_chunks)


@pytest.fixture
def scene(small_store: Built, corpus: Corpus, place: Path) -> Scene:
    """A store of two snapshots; `scene.state` is what the live one says."""
    return _copied(small_store, corpus, place)


@pytest.fixture
def big(big_store: Built, corpus: Corpus, place: Path) -> Scene:
    """The same with so many chunks that Chroma reads its HNSW files."""
    return _copied(big_store, corpus, place)


def _copied(built: Built, corpus: Corpus, place: Path) -> Scene:
    shutil.rmtree(place)
    shutil.copytree(built.folder, place)
    scene = Scene(corpus)
    scene.state, scene.before = dict(built.state), dict(built.before)
    return scene
