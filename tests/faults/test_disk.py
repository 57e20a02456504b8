"""A disk that is full or may not be written: one line, exit code 2, and nothing lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_rag.index.snapshots import Store
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene, answered, assert_whole, ingest, server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")

LARGE = "".join(f"## Part {n}\n\n{'word ' * 250} p{n}\n\n" for n in range(150))


def assert_refused_in_a_line(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert "Unexpected" not in lines[0]
    assert "run it again" in lines[0]


@pytest.mark.parametrize("kilobytes", [1, 40, 200, 400, 700])
def test_a_quota_stops_an_ingest_in_one_line_and_loses_nothing(
    scene: Scene, store: Store, ollama: FakeOllama, kilobytes: int
) -> None:
    name = store.current_name()
    scene.corpus.write("large.md", LARGE)
    done = ingest(file_limit=kilobytes * 1024)
    assert_refused_in_a_line(done)
    assert store.current_name() == name
    assert_whole(store)
    assert ingest().returncode == 0
    assert_whole(store)


@pytest.fixture
def fresh(corpus: Corpus, ollama: FakeOllama) -> Scene:
    """A corpus that has no store yet."""
    scene = Scene(corpus)
    scene.change(0)
    scene.change(1)
    return scene


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of 4 MB under the store; the store is its subfolder."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("this user may not mount")
    monkeypatch.setenv("RAG_STORE_DIR", str(disk / "store"))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_stops_an_ingest_in_one_line_and_loses_nothing(
    fresh: Scene, small_disk: Path, run: Run
) -> None:
    store = Store(small_disk / "store")
    run()
    name = store.current_name()
    fresh.corpus.write("large.md", LARGE)
    with server() as client:
        client.initialize()
        for left in (0, 20_000, 300_000, 900_000):
            fill(small_disk, left)
            assert_refused_in_a_line(ingest())
            assert answered(client)[0] == fresh.state
            (small_disk / "ballast").unlink()
            assert store.current_name() == name
            assert_whole(store)
        (fresh.corpus.path / "large.md").unlink()
        fresh.change(2)
        assert ingest().returncode == 0
        assert_whole(store)
        assert answered(client) == (fresh.state, set())


def fill(disk: Path, left: int) -> None:
    ballast = disk / "ballast"
    ballast.unlink(missing_ok=True)
    status = os.statvfs(disk)
    ballast.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - left)))


def test_a_store_that_may_not_be_written_is_answered_from_or_said_so(
    fresh: Scene, small_disk: Path, run: Run
) -> None:
    run()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = ingest()
    assert done.returncode == 2
    assert "cannot be written" in done.stderr.splitlines()[-1]
    with server() as client:
        client.initialize()
        said, _ = answered(client)
        assert said == fresh.state


def test_a_store_deleted_or_replaced_under_a_server_is_followed(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    with server() as client:
        client.initialize()
        assert answered(client) == (scene.state, set())
        shutil.rmtree(store.path)
        answer = client.call("search_corpus", query="alpha1")
        assert "There is no index yet" in answer["content"][0]["text"]
        scene.change(2)
        run()
        assert answered(client) == (scene.state, set())
        store.path.rename(store.path.with_name("away"))
        scene.change(3)
        run()
        assert answered(client) == (scene.state, set())
