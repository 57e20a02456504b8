"""What the status says of the index, the corpus as it is now, and the embedder."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from local_rag.documents import document
from local_rag.settings import PROJECT_DIR
from local_rag.tools import corpus_status as status
from local_rag.tools.corpus_status import CorpusChanges, refresh_command
from tests.calling import Call, calls
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama


@pytest.fixture
def call(corpus: Corpus, ollama: FakeOllama) -> Iterator[Call]:
    with calls() as call:
        yield call


def commit(corpus: Corpus) -> None:
    git = ("git", "-C", str(corpus.path), "-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x", "--allow-empty"], check=True)


def test_the_status_counts_what_differs_on_disk(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    for name in ("same", "touched", "edited", "gone", "link"):
        corpus.write(f"{name}.md", f"{name}\n")
    corpus.write("out.md", "---\nrag: false\n---\nleft out\n")
    corpus.write("out16.md", "---\nrag: false\n---\nleft out\n".encode("utf-16"))
    corpus.write("out.html", '<meta name="rag" content="false"><p>left out')
    corpus.write("key.txt", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n")
    corpus.write("binary.md", b"\0\1\2")
    run()
    clean = call("corpus_status")["changes"]
    assert clean == {"new": 0, "changed": 0, "gone": 0, "examples": [], "complete": True}
    (corpus.path / "touched.md").touch()
    corpus.write("edited.md", "edited again\n")
    (corpus.path / "gone.md").unlink()
    (corpus.path / "link.md").unlink()
    (corpus.path / "link.md").symlink_to(corpus.path / "same.md")
    corpus.write("sub/new.md", "new\n")
    corpus.write("image.png", b"no document")
    changes = call("corpus_status")["changes"]
    assert (changes["new"], changes["changed"], changes["gone"]) == (1, 1, 2)
    assert changes["examples"][0] == "new: notes:sub/new.md"


def test_the_text_says_how_many_changes_it_does_not_name() -> None:
    files = [f"new: notes:{n}.md" for n in range(4)] + ["gone: notes:z.md"]
    changes = CorpusChanges(new=10, changed=3, gone=1, examples=files, complete=True)
    assert changes.markdown().splitlines() == [
        "Since then: 10 new, 3 changed, 1 gone",
        *(f"- {name}" for name in files),
        "- and 6 more new, 3 more changed",
    ]
    all_named = CorpusChanges(new=4, changed=0, gone=1, examples=files, complete=True)
    assert "more" not in all_named.markdown()


def test_the_status_names_the_first_files_and_counts_the_rest(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    for n in range(9):
        corpus.write(f"new{n}.md", f"new {n}\n")
    changes = call("corpus_status")["changes"]
    assert changes["new"] == 9
    assert CorpusChanges.model_validate(changes).markdown().splitlines()[-2:] == [
        "- new: notes:new3.md",
        "- and 5 more new",
    ]


def test_commits_are_told_at_ingest_and_now(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha\n")
    commit(corpus)
    run()
    (root,) = call("corpus_status")["roots"]
    assert root["commit_at_ingest"] == root["commit_now"]
    assert (root["dirty_at_ingest"], root["dirty_now"]) == (False, False)
    corpus.write("b.md", "beta\n")
    commit(corpus)
    corpus.write("a.md", "alpha again\n")
    (root,) = call("corpus_status")["roots"]
    assert root["commit_at_ingest"] != root["commit_now"]
    assert root["dirty_now"] is True


def test_the_embedder_is_asked_and_not_waited_for(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    assert call("corpus_status")["embedder_state"] == "responds"
    monkeypatch.setattr(status, "PING_SECONDS", 0.2)
    ollama.thawed.clear()
    began = time.monotonic()
    assert "no response within 0.2 seconds" in call("corpus_status")["embedder_state"]
    assert time.monotonic() - began < 3
    ollama.thawed.set()


def test_an_embedder_that_is_away_is_said(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    ollama.stop()
    assert call("corpus_status")["embedder_state"].startswith("Ollama is not running")


def test_warnings_and_what_is_not_indexed_are_counted(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "---\nlifecycle: odd\n---\nalpha\n")
    corpus.write("b.md", b"\0\1\2")
    run()
    answer: dict[str, Any] = call("corpus_status")
    assert sum(answer["warnings"].values()) == 1
    assert answer["first_warnings"][0].startswith("notes:a.md: lifecycle 'odd'")
    assert answer["skipped"]
    assert answer["refresh_command"].endswith("ingest.py")
    assert answer["age"].endswith(" seconds")


@pytest.mark.skipif(os.name == "nt", reason="its shell has no such form")
def test_the_command_that_refreshes_is_about_this_index(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    command = call("corpus_status")["refresh_command"]
    for name in ("RAG_CORPUS_DIR", "RAG_STORE_DIR"):
        assert f"{name}={shlex.quote(os.environ[name])} " in command
    for name in ("RAG_CONFIG", "RAG_CORPUS_DIR", "RAG_STORE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert refresh_command() == shlex.join([sys.executable, str(PROJECT_DIR / "ingest.py")])
    monkeypatch.setenv("RAG_CORPUS_DIR", "x" * 500)
    assert refresh_command() == shlex.join([sys.executable, str(PROJECT_DIR / "ingest.py")])


def test_a_check_that_takes_too_long_is_cut_and_said(
    call: Call, corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    monkeypatch.setattr(status, "LOOK_SECONDS", 0.0)
    answer = call("corpus_status")
    assert answer["changes"]["complete"] is False
    assert answer["notices"] == ["The check of files was cut off after 0 seconds."]


@pytest.mark.parametrize(
    ("created", "said"),
    [("2020-01-01T00:00:00+00:00", " days"), ("", "an unknown time"), ("2020-01-01", "an unknown")],
)
def test_an_age_is_told_in_words(created: str, said: str) -> None:
    assert said in status.age(created)


def test_a_new_file_that_trips_the_parser_costs_the_status_nothing(
    call: Call, corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    run()
    corpus.write("odd.md", "rag, and something odd\n")

    def trip(data: bytes) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(document, "decode", trip)
    assert call("corpus_status")["changes"]["examples"] == ["new: notes:odd.md"]
