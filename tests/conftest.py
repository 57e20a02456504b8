"""Real folders, a fake Ollama on a real socket, and an environment without the person's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from local_rag.index.live_index import LiveIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Settings, load_settings
from tests.fake_ollama import FakeOllama

# A flush to the disk takes up to 35 ms, and the tests make thousands: on a file system in memory
# they take half the time. What counts after a kill is the same; loss of power has its own tests.
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a private folder in it
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2_000_000_000:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

hypothesis_settings.register_profile(
    "project", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("project")


class Quiet:
    """Progress that nobody watches."""

    def notice(self, text: str) -> None:
        pass

    def start(self, files: int) -> None:
        pass

    def advance(self, embedded: int) -> None:
        pass


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """What most people have: ingest makes its own private, and with it those of later tests."""
    before = os.umask(0o022)
    yield
    os.umask(before)


class Corpus:
    """A folder of documents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def write(self, name: str, text: str | bytes) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return file


@pytest.fixture(autouse=True)
def no_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty home folder, and no Ollama but one that a test starts."""
    forget_person(monkeypatch, tmp_path / "home")


def forget_person(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Takes the settings of whoever runs the tests out of the environment."""
    for name in [n for n in os.environ if n.startswith(("RAG_", "OLLAMA_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """An empty corpus, and a store to be, as the settings' own."""
    monkeypatch.setenv("RAG_CORPUS_DIR", str(tmp_path / "notes"))
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "store"))
    return Corpus(tmp_path / "notes")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """A running fake Ollama, as the settings' own."""
    fake = FakeOllama()
    monkeypatch.setenv("OLLAMA_HOST", fake.host)
    yield fake
    fake.stop()


Run = Callable[..., Report]


@pytest.fixture
def run() -> Run:
    """Runs an ingest with the environment's settings."""

    def run(**options: bool) -> Report:
        return run_ingest(load_settings(), Options(**options), Quiet())

    return run


@pytest.fixture
def live(store: Store) -> Iterator[LiveIndex]:
    """The store as a server reads it."""
    index = LiveIndex(store)
    yield index
    index.close()


@pytest.fixture
def settings(corpus: Corpus) -> Settings:
    return load_settings()
