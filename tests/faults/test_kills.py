"""Ingest killed at each step, beside a server that goes on answering."""

from __future__ import annotations

import signal
import sys

import pytest

from local_rag.index.snapshots import Store
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import Scene, age, answered, assert_whole, killed, server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal")

STEPS = [
    ("copied %s", 1),
    ("embedded %d chunks", 1),
    ("indexed %d files", 1),
    ("indexed %d files", 4),
    ("verifying %s", 1),
    ("publishing %s", 1),
    ("published %s", 1),
    ("removing %s", 1),
    ("removing the files of %s", 1),
]


def test_a_kill_at_any_step_leaves_whole_snapshots_and_right_answers(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    scene = Scene(corpus)
    for version in range(5):
        scene.change(version)
        run()
    with server() as client:
        client.initialize()
        for version, (step, number) in enumerate(STEPS, 5):
            before = dict(scene.state)
            scene.change(version)
            age(store)
            done = killed(step, number)
            assert done.returncode == -signal.SIGKILL, (step, done.stderr)
            said, notices = answered(client)
            assert said in (before, scene.state), step
            assert notices == set(), step
            assert run().exit_code == 0, step
            assert_whole(store)
            assert answered(client) == (scene.state, set()), step


@pytest.mark.parametrize("step", ["embedded %d chunks", "verifying %s", "publishing %s"])
def test_a_kill_of_the_first_run_of_all_leaves_no_index_and_costs_no_embedding_twice(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, step: str
) -> None:
    scene = Scene(corpus)
    scene.change(0)
    scene.change(1)
    assert killed(step, 1).returncode == -signal.SIGKILL
    assert not (store.path / "CURRENT").exists()
    kept = set(ollama.documents)
    ollama.texts.clear()
    assert run().exit_code == 0
    assert kept.isdisjoint(ollama.documents)
    assert_whole(store)
