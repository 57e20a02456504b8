"""The live snapshot damaged while a server has it open: no crash, no wrong answer, one way out."""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import closing

import pytest

from local_rag.index.checksums import Checksum
from local_rag.index.live_index import LiveIndex
from local_rag.index.snapshots import Store
from local_rag.settings import load_settings
from local_rag.tools.toolset import open_toolset
from tests.conftest import Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene, State, answered, assert_whole, ingest, server
from tests.faults.test_damage import DAMAGES, FILES, HNSW, Damage, emptied, file_of, garbled
from tests.server.test_stdio import RawClient

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be changed")


def read(client: RawClient, paths: list[str]) -> State:
    """The last lines of documents; an error leaves a document out, and says what to do."""
    found = {}
    for path in paths:
        result = client.call("get_file", path=path)
        text: str = result["content"][0]["text"]
        if result.get("isError"):
            assert "Run ingest.py to repair" in text, text
        else:
            found[path] = result["structuredContent"]["text"].splitlines()[-1]
    return found


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, marks=[pytest.mark.soak] * (damage in (emptied, garbled)))
        for damage in DAMAGES
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_file_damaged_under_a_server_is_answered_around_and_mended(
    scene: Scene, store: Store, ollama: FakeOllama, name: str, damage: Damage
) -> None:
    with server() as client:
        client.initialize()
        assert answered(client) == (scene.state, set())
        damage(file_of(store, name))
        said, notices = answered(client)
        assert said in (scene.state, scene.before)
        assert said == scene.state or all("This answer is from the index of" in n for n in notices)
        assert all("ingest.py" in notice for notice in notices)
        lines = read(client, sorted(scene.state)).items()
        assert lines <= scene.state.items() or lines <= scene.before.items()
        assert ingest().returncode == 0
        assert answered(client) == (scene.state, set())
        assert read(client, sorted(scene.state)) == scene.state
    assert_whole(store)


def test_bytes_changed_inside_a_long_text_are_never_shown(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run
) -> None:
    scene.corpus.write("long.md", "needle and so on\n" * 5_000)
    run()
    with server() as client:
        client.initialize()
        assert client.call("get_file", path="01.md")["structuredContent"]["text"]
        path = file_of(store, "keywords.sqlite3")
        path.write_bytes(path.read_bytes().replace(b"needle", b"poodle"))
        for call in (
            {"name": "get_file", "path": "long.md", "start_line": 2_000},
            {"name": "grep_corpus", "pattern": "poodle"},
        ):
            assert "poodle and" not in str(client.call(**call))
        assert answered(client)[0] == scene.state
        assert ingest().returncode == 0
        page = client.call("get_file", path="long.md", start_line=4_999)["structuredContent"]
        assert page["text"] == "needle and so on\n" * 2


def test_bytes_changed_in_the_midst_of_a_request_are_never_shown(
    scene: Scene, store: Store, ollama: FakeOllama
) -> None:
    tools = open_toolset(load_settings())
    before = ollama.before_embed

    def damage(texts: object) -> None:
        ollama.before_embed = before
        path = file_of(store, "keywords.sqlite3")
        path.write_bytes(path.read_bytes().replace(b"version", b"perfume"))

    tools.call("search_corpus", {"query": "alpha1"})
    ollama.before_embed = damage
    with closing(tools):
        answer = tools.call("search_corpus", {"query": "alpha2"})
    assert answer.is_error
    assert re.search(r"changed while.* Retry\.", answer.text)


def test_what_chroma_has_read_of_a_hnsw_folder_answers_rightly_whatever_becomes_of_it(
    big: Scene, store: Store, ollama: FakeOllama
) -> None:
    with server() as client:
        client.initialize()
        right = answered(client, range(1, 2))
        assert right == ({"01.md": big.state["01.md"]}, set())
        for name in HNSW:
            path = file_of(store, name)
            content = path.read_bytes()
            for damage in DAMAGES:
                damage(path)
                assert answered(client, range(1, 2)) == right, (name, damage)
                path.write_bytes(content)


def test_a_file_that_was_only_touched_costs_a_second_look(scene: Scene, store: Store) -> None:
    with closing(LiveIndex(store)) as live:
        with live.use() as first:
            pass
        os.utime(store.current().catalog, (1, 1))
        with live.use() as second:
            assert (second.damage, second.notice) == ("", "")
        assert second is not first
        with live.use() as third:
            assert third is second


def test_a_failure_that_passes_is_forgotten(
    scene: Scene, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a disk that is full or a network that is away for a moment."""
    catalog = store.current().catalog
    catalog.rename(catalog.with_name("away"))
    with closing(LiveIndex(store)) as live:
        with live.use() as index:
            assert "keywords.sqlite3" in index.notice
            assert index.snapshot.path.name == store.finished()[1]
        catalog.with_name("away").rename(catalog)
        with live.use() as again:
            assert again is index  # not looked at with every request
        monkeypatch.setattr("local_rag.index.live_index.RETRY_SECONDS", 0.0)
        with live.use() as index:
            assert (index.snapshot.path.name, index.notice) == (store.current_name(), "")


def test_a_snapshot_that_cannot_be_read_for_a_moment_is_tried_again_at_once(
    scene: Scene, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(24, "Too many open files")] * 2
    real = Checksum.of

    def of(path: object) -> Checksum:
        if failures:
            raise failures.pop()
        return real(path)  # type: ignore[arg-type]

    monkeypatch.setattr(Checksum, "of", of)
    with closing(LiveIndex(store)) as live, live.use() as index:
        assert (index.snapshot.path.name, index.notice) == (store.current_name(), "")


def test_many_threads_meet_one_damaged_file_and_none_of_them_fails(
    scene: Scene, store: Store
) -> None:
    seen: list[str] = []
    with closing(LiveIndex(store)) as live:
        with live.use():
            pass
        emptied(file_of(store, "keywords.sqlite3"))

        def ask() -> None:
            for _ in range(20):
                with live.use() as index:
                    seen.append(index.catalog.names()[0][1] + index.notice[:8])

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(seen) == {"01.mdThe inde"}
    assert len(seen) == 160
