"""The corpus changes while it is being read, and clocks and times lie."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from local_rag.corpus import walk
from local_rag.corpus.safe_open import read_inside
from local_rag.index.catalog import Catalog
from local_rag.index.live_index import LiveIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.snapshot_writer import STAMP
from local_rag.settings import Root
from local_rag.tools.corpus_status import age as age_of
from tests.calling import calls
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene, State, age, assert_whole, ingest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes, open files")


def indexed(store: Store) -> State:
    """The last line of every document in the live snapshot."""
    with closing(Catalog.open(store.current().catalog)) as catalog:
        return {f.path: catalog.text(f.number).splitlines()[-1] for f in catalog.files()}


def at_first_text(ollama: FakeOllama, act: Callable[[], object]) -> None:
    """Does something while ingest runs: all files are hashed by then, few of them indexed."""

    def once(texts: Sequence[str]) -> None:
        if any(text.startswith("title: Document") for text in texts):
            ollama.before_embed = lambda texts: None
            act()

    ollama.before_embed = once


@pytest.fixture
def fresh(corpus: Corpus) -> Scene:
    """30 documents that were never indexed; the last are read again long after the first."""
    scene = Scene(corpus)
    for number in range(30):
        scene.write(number, 0)
    return scene


def test_documents_edited_deleted_and_replaced_during_a_run_cost_nothing_but_themselves(
    fresh: Scene, store: Store, ollama: FakeOllama, run: Run, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Document x\n\nnot of this corpus\n", encoding="utf-8")
    folder = fresh.corpus.path

    def disturb() -> None:
        fresh.write(25, 1)
        for number in (26, 27, 28, 29):
            fresh.delete(number)
        (folder / "27.md").mkdir()
        (folder / "28.md").symlink_to(secret)
        os.mkfifo(folder / "29.md")

    at_first_text(ollama, disturb)
    report = run()
    assert report.exit_code == 1
    assert {s.path: s.text for s in report.skipped} == {
        "26.md": "unreadable: No such file or directory",
        "27.md": "changed into a link or a folder while it was read",
        "28.md": "changed into a link or a folder while it was read",
        "29.md": "changed into a link or a folder while it was read",
    }
    assert indexed(store) == fresh.state
    assert not any("not of this corpus" in text for text in ollama.texts)
    assert run().exit_code == 0
    assert indexed(store) == fresh.state


def test_a_root_that_disappears_during_a_run_loses_nothing(
    fresh: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    run()
    for number in range(30):
        fresh.write(number, 1)
    away = fresh.corpus.path.with_name("away")
    at_first_text(ollama, lambda: fresh.corpus.path.rename(away))
    report = run()
    assert report.exit_code == 1
    assert {s.text for s in report.skipped} == {"unreadable: No such file or directory"}
    assert indexed(store).keys() == fresh.state.keys()
    kept = indexed(store)
    assert ingest().returncode == 2  # the whole folder is gone: that is no deletion
    assert indexed(store) == kept
    away.rename(fresh.corpus.path)
    assert run().exit_code == 0
    assert indexed(store) == fresh.state


def test_a_file_that_is_written_to_while_it_is_read_is_read_whole(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = corpus.write("a.md", "old" * 1000)
    parts = iter([b"old" * 500, b"new" * 500])  # a torn read, as it happens with large files
    read = os.read

    def torn(handle: int, size: int) -> bytes:
        part = next(parts, None)
        if part and b"new" in part:
            path.write_bytes(b"new" * 1000)
            os.utime(path, ns=(1, 1))
        return read(handle, size) if part is None else part

    monkeypatch.setattr(os, "read", torn)
    content = read_inside(corpus.path, path, 10_000)
    assert (content.data, content.mtime_ns) == (b"new" * 1000, 1)


def test_a_file_that_never_stands_still_is_taken_as_it_comes(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = corpus.write("a.md", "0")
    read, times = os.read, []

    def growing(handle: int, size: int) -> bytes:
        times.append(size)
        data = read(handle, size)
        path.write_text(path.read_text("utf-8") + "x", "utf-8")
        return data

    monkeypatch.setattr(os, "read", growing)
    assert read_inside(corpus.path, path, 10_000).data == b"0xx"
    assert times == [1, 2, 3]
    with pytest.raises(ValueError, match="larger than"):
        read_inside(corpus.path, path, 5)


def test_other_bytes_of_the_same_size_and_time_are_found_by_the_next_run(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    path = scene.corpus.path / "01.md"
    status = path.stat()
    scene.write(1, 7)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with calls() as call:
        # A server looks at size and time alone; what it says is what was indexed, with its hash.
        page = call("get_file", path="01.md")
        assert (page["state"], "version 1" in page["text"]) == ("current", True)
    assert run().changed == 1
    assert indexed(store) == scene.state


def test_the_time_alone_makes_no_document_a_changed_one(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for path in scene.corpus.path.iterdir():
        os.utime(path, (1, 1))
    with calls() as call:
        assert call("get_file", path="01.md")["state"] == "current"
    report = run()
    assert (report.changed, report.published) == (0, "")


def test_a_clock_that_was_set_back_puts_no_older_index_before_a_newer_one(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    """The store's snapshots are of the future: made before the clock was set right."""
    for number, name in enumerate(sorted(store.finished())):
        stamp = (datetime.now(UTC) + timedelta(days=400 + number)).strftime(STAMP)
        folder = store.path / "snapshots" / name
        os.utime(folder, (folder.stat().st_mtime + 4e7,) * 2)
        folder.rename(folder.with_name(f"{stamp}-{number:06x}"))
    newest = store.finished()[0]
    (store.path / "CURRENT").write_text(newest + "\n", encoding="utf-8")
    made = [newest]
    for version in range(3, 6):
        scene.change(version)
        made.append(run().published)
        assert store.finished()[0] == store.current_name() == made[-1]
        assert indexed(store) == scene.state
    assert made == sorted(made)
    age(store)
    scene.change(6)
    run()
    assert len(store.finished()) == 3
    store.current().catalog.write_bytes(b"")
    with closing(LiveIndex(store)) as live, live.use() as index:
        assert index.snapshot.path.name == made[-1]  # the newest that is whole
    assert ingest().returncode == 0
    assert_whole(store)


def test_an_index_of_the_future_has_an_age() -> None:
    assert age_of((datetime.now(UTC) + timedelta(days=3)).isoformat()) == "0 seconds"


def test_a_root_that_disappears_while_it_is_listed_is_no_deletion(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All names are there, and no file any more: as a disk that is unplugged."""
    kept = indexed(store)
    real = walk._identities

    def unplugged(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
        shutil.rmtree(scene.corpus.path, ignore_errors=True)
        return real(files)

    monkeypatch.setattr(walk, "_identities", unplugged)
    assert [item.root for item in walk.walk(Root("notes", scene.corpus.path))]
    scene.corpus.path.mkdir(exist_ok=True)
    scene.write(1, 9)
    with pytest.raises(Exception, match="holds no documents"):
        run()
    assert indexed(store) == kept
