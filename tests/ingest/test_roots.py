"""Several roots, each on its own; and a root that is gone must not take its documents along."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import CorpusUnavailable
from local_rag.index.live_index import LiveIndex
from local_rag.index.manifest import RootState
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Settings, load_settings
from local_rag.tools.search_corpus import SearchArguments, search_corpus
from local_rag.tools.tool import Sources
from local_rag.tools.toolset import Toolset


class Silent:
    def notice(self, text: str) -> None:
        pass

    def start(self, files: int) -> None:
        pass

    def advance(self, embedded: int) -> None:
        pass


class Place:
    """Two roots, `work` in git and `home` beside it, and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work, self.home = folder / "work", folder / "home"
        self.store = Store(folder / "store")

    def ingest(self, *roots: Path, allow_empty: bool = False) -> Report:
        folders = tuple(str(root) for root in roots or (self.work, self.home))
        settings = Settings(corpus_dir=folders, store_dir=self.store.path, embedder="none")
        return run_ingest(settings, Options(allow_empty=allow_empty), Silent())

    def found(self, query: str) -> list[tuple[str, str]]:
        with closing(LiveIndex(self.store)) as live:
            tools = Toolset(Sources(live, QueryEmbedder(lambda _: None), load_settings()))
            result = search_corpus(tools.sources, SearchArguments(query=query))
        return sorted((hit.root, hit.path) for hit in result.hits)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    for root in (made.work, made.home):
        root.mkdir()
        (root / "plan.md").write_text(f"# Plan\n\nzebra crossing at {root.name}\n")
    (made.work / "extra.md").write_text("# Extra\n\nnothing\n")
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "start")):
        subprocess.run((*git, *arguments), cwd=made.work, check=True)
    return made


def test_each_root_has_its_own_commit_and_counts(place: Place) -> None:
    report = place.ingest()
    head = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=place.work, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert report.roots == (
        RootState("work", str(place.work), head, False, files=2, chunks=2),
        RootState("home", str(place.home), "", False, files=1, chunks=1),
    )
    assert place.store.current().manifest.roots == report.roots


def test_files_of_one_name_are_two_documents(place: Place) -> None:
    place.ingest()
    assert place.found("zebra") == [("home", "plan.md"), ("work", "plan.md")]


def test_removing_a_root_removes_its_documents(place: Place) -> None:
    place.ingest()
    report = place.ingest(place.work)
    assert (report.deleted, report.unchanged, report.files) == (1, 2, 2)
    assert place.found("zebra") == [("work", "plan.md")]
    assert [root.name for root in report.roots] == ["work"]


def test_a_root_that_has_become_empty_stops_the_run_and_loses_nothing(place: Place) -> None:
    place.ingest()
    before = place.store.current_name()
    (place.home / "plan.md").unlink()
    with pytest.raises(CorpusUnavailable) as caught:
        place.ingest()
    assert str(caught.value) == (
        f"{place.home} holds no documents, but the index has some from it."
        " Mount the disk, or pass --allow-empty to remove them."
    )
    assert place.store.current_name() == before
    assert place.found("zebra") == [("home", "plan.md"), ("work", "plan.md")]


def test_with_allow_empty_an_empty_root_gives_up_its_documents(place: Place) -> None:
    place.ingest()
    (place.home / "plan.md").unlink()
    report = place.ingest(allow_empty=True)
    assert (report.deleted, report.files) == (1, 2)
    assert place.found("zebra") == [("work", "plan.md")]


def test_a_root_that_is_missing_stops_the_run(place: Place) -> None:
    place.ingest()
    place.home.rename(place.folder / "elsewhere")
    with pytest.raises(CorpusUnavailable, match=r"cannot be read \(No such file or directory\)"):
        place.ingest()
    assert place.found("zebra") == [("home", "plan.md"), ("work", "plan.md")]


def test_other_folders_than_all_that_the_index_is_of_stop_the_run(place: Place) -> None:
    """As a scheduled run does that was given none of the settings of the first."""
    place.ingest()
    other = place.folder / "sample"
    other.mkdir()
    (other / "a.md").write_text("# Sample\n")
    with pytest.raises(CorpusUnavailable) as caught:
        place.ingest(other)
    had = f"{place.work}, {place.home}"
    assert str(caught.value) == (
        f"The index was built from {had}, but RAG_CORPUS_DIR lists only {other}. "
        "Fix the setting, or pass --allow-empty to replace the whole index."
    )
    assert place.found("zebra") == [("home", "plan.md"), ("work", "plan.md")]
    assert place.ingest(other, place.home).new == 1
    assert place.ingest(other, allow_empty=True).deleted == 1


def test_a_second_root_of_the_same_name_joins_the_first(place: Place) -> None:
    place.ingest(place.work)
    twin = place.folder / "more" / "work"
    twin.mkdir(parents=True)
    (twin / "b.md").write_text("# B\n")
    assert place.ingest(place.work, twin).exit_code == 0
