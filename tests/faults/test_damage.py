"""The live snapshot damaged in every way, a server on it, and the ingest that mends it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_rag.index.live_index import open_index
from local_rag.index.snapshots import Store
from local_rag.ingest.base_snapshot import load_base_snapshot
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene, answered, assert_whole, ingest, server

Damage = Callable[[Path], None]


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def garbled(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


DAMAGES: list[Damage] = [truncated, emptied, zeroed, garbled, Path.unlink]
FILES = ["chroma.sqlite3", "keywords.sqlite3", "manifest.json"]
HNSW = ["data_level0.bin", "header.bin", "length.bin", "link_lists.bin", "index_metadata.pickle"]


def file_of(store: Store, name: str) -> Path:
    (path,) = store.current().path.rglob(name)
    return path


def assert_mends(store: Store, ollama: FakeOllama, scene: Scene) -> None:
    """An ordinary run puts all right by itself and embeds nothing again."""
    done = ingest()
    assert (done.returncode, ollama.documents) == (0, []), done.stderr
    assert "This run repairs it" in done.stderr
    assert_whole(store)
    assert ingest().returncode == 0


def assert_answers_rightly(scene: Scene) -> None:
    """From the live snapshot or an older one, and never without a notice."""
    with server() as client:
        client.initialize()
        said, notices = answered(client)
        assert said in (scene.state, scene.before)
        assert notices


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [truncated, *(pytest.param(damage, marks=pytest.mark.soak) for damage in DAMAGES[1:])],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_file_is_noticed_answered_around_and_mended(
    scene: Scene, store: Store, ollama: FakeOllama, name: str, damage: Damage
) -> None:
    damage(file_of(store, name))
    assert_answers_rightly(scene)
    assert_mends(store, ollama, scene)


def test_a_hnsw_header_cut_short_crashes_neither_server_nor_ingest(
    big: Scene, store: Store, ollama: FakeOllama
) -> None:
    truncated(file_of(store, "header.bin"))
    with server() as client:
        client.initialize()
        said, notices = answered(client, range(3))
        assert said == {path: line for path, line in big.state.items() if path < "03"}
        assert [n for n in notices if "header.bin" in n] == list(notices)
        assert_mends(store, ollama, big)
        assert answered(client, range(3)) == (said, set())


def test_no_damage_of_a_hnsw_file_reaches_chroma(big: Scene, store: Store) -> None:
    for name in HNSW:
        path = file_of(store, name)
        content = path.read_bytes()
        for damage in DAMAGES:
            damage(path)
            with closing(open_index(store.current())) as index:
                assert name in index.damage, damage
            assert name in load_base_snapshot(store).damage, damage
            path.write_bytes(content)
    assert load_base_snapshot(store).damage == ""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        "a folder",
        "missing",
        pytest.param(b"\n", marks=pytest.mark.soak),
        pytest.param(b"\xff\xfe garbage", marks=pytest.mark.soak),
        pytest.param(b"../../etc", marks=pytest.mark.soak),
        pytest.param(b"nothing-of-this-name", marks=pytest.mark.soak),
    ],
    ids=["empty", "a folder", "missing", "blank", "garbage", "outside", "nowhere"],
)
def test_a_damaged_pointer_is_noticed_answered_around_and_mended(
    scene: Scene, store: Store, ollama: FakeOllama, content: bytes | str
) -> None:
    pointer = store.path / "CURRENT"
    pointer.unlink()
    if isinstance(content, bytes):
        pointer.write_bytes(content)
    elif content == "a folder":
        pointer.mkdir()
    with server() as client:
        client.initialize()
        said, notices = answered(client)
        assert said == scene.state
        assert all("This answer is from the index of" in notice for notice in notices)
        assert len(notices) == 1
        assert ingest("--verify").returncode == 1
        assert_mends(store, ollama, scene)
        assert answered(client) == (scene.state, set())


def test_an_index_of_a_newer_program_is_neither_read_nor_replaced(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    name = store.current_name()
    rewrite(store, format=99)
    done = ingest()
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "error: A newer version of this program wrote the index. Update this program."
    )
    assert ingest("--rebuild").returncode == 2
    assert store.current_name() == name
    with server() as client:
        client.initialize()
        answer = client.call("search_corpus", query="alpha1")
        assert answer["isError"]
        assert "newer version" in answer["content"][0]["text"]


def test_an_index_of_an_older_program_is_built_anew_without_embedding(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    for name in store.finished():
        rewrite(store, name, format=2)
    with server() as client:
        client.initialize()
        answer = client.call("search_corpus", query="alpha1")
        assert "an older version of this program wrote it" in answer["content"][0]["text"]
        assert "Run ingest.py" in answer["content"][0]["text"]
        assert_mends(store, ollama, scene)
        assert answered(client) == (scene.state, set())


def test_an_index_of_another_chroma_is_built_anew_without_embedding(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    with closing(sqlite3.connect(file_of(store, "chroma.sqlite3"))) as database, database:
        database.execute("UPDATE migrations SET hash = 'unknown'")
    assert_mends(store, ollama, scene)


def rewrite(store: Store, name: str = "", **values: object) -> None:
    path = store.path / "snapshots" / (name or store.current_name()) / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | values), encoding="utf-8")


def test_a_damaged_index_is_not_mended_into_a_worse_one_while_the_embedder_is_away(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    for name in store.finished():
        (store.path / "snapshots" / name / "keywords.sqlite3").unlink()
    store.cache.unlink()
    name = store.current_name()
    ollama.stop()
    done = ingest()
    assert done.returncode == 2
    assert "Ollama is not running" in done.stderr.splitlines()[-1]
    assert store.current_name() == name


def test_a_snapshot_damaged_while_it_is_open_is_left_for_an_older_one(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    state = dict(scene.state)
    with server() as client:
        client.initialize()
        assert answered(client) == (state, set())
        zeroed(file_of(store, "keywords.sqlite3"))
        for _ in range(2):  # what SQLite still has in memory may answer, and the first may fail
            client.call("get_file", path="01.md")
        result = client.call("search_corpus", query="alpha1")
        assert not result.get("isError")


def test_a_damaged_live_index_keeps_the_guard_against_a_root_that_is_gone(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Corpus(scene.corpus.path.parent / "other")
    file = other.write("b.md", "beta\n")
    monkeypatch.setenv("RAG_CORPUS_DIR", f"{scene.corpus.path}{os.pathsep}{other.path}")
    run()
    scene.change(3)
    run()
    emptied(file_of(store, "manifest.json"))
    file.unlink()
    done = ingest()
    assert done.returncode == 2
    assert "--allow-empty" in done.stderr
