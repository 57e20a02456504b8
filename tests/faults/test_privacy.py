"""Who can see what: files, sockets, logs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import cast
from urllib.parse import urlsplit

import pytest

from local_rag.index.snapshots import Store
from local_rag.search.weakness import Thresholds
from tests.conftest import Corpus
from tests.fake_ollama import FakeOllama
from tests.faults.audited import audited
from tests.faults.forked import PROJECT, Run, finished
from tests.faults.scenes import Scene, answered, ingest, server
from tools.calibrate import keep_thresholds


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("folder", ["new", "there before"])
def test_nobody_else_can_read_the_store(
    corpus: Corpus, store: Store, ollama: FakeOllama, folder: str
) -> None:
    if folder == "there before":
        store.path.mkdir(mode=0o755)
    scene = Scene(corpus)
    for version in (1, 2):
        scene.change(version)
        assert ingest().returncode == 0
        with server() as client:
            client.initialize()
            assert answered(client)[0] == scene.state
    # Whatever is put aside is as private as what it was.
    store.cache.write_bytes(b"damaged" * 1000)
    (store.path / "CURRENT").unlink()
    (store.path / "CURRENT").mkdir(0o755)
    keep_thresholds(store.path, store.open(store.finished()[0]).manifest.identity, Thresholds(0, 0))
    assert ingest("--rebuild").returncode == 0
    names = {path.name for path in store.path.iterdir()}
    assert {"embeddings.damaged", "calibration.json", "ingest.log", "CURRENT"} <= names
    private = [p for p in store.path.rglob("*") if not p.name.startswith("damaged-")]
    private += [store.path] * (folder == "new")  # a folder that somebody made is theirs
    assert {p: oct(p.stat().st_mode) for p in private if p.stat().st_mode & 0o077} == {}


def test_nothing_but_the_embedder_is_connected_to(corpus: Corpus, ollama: FakeOllama) -> None:
    Scene(corpus).change(1)
    done = finished(Run(audited))
    assert done.returncode == 0, done.stderr
    port = urlsplit(ollama.host).port
    assert set(done.stdout.splitlines()) == {f"('127.0.0.1', {port})"}, done.stdout


def secluded() -> dict[str, int]:
    """What `tests.faults.secluded` counts; skips where no such network can be made."""
    for flags in ("-n", "-rn"):  # the second for people who are not root
        if shutil.which("unshare") and not run(["unshare", flags, "true"]).returncode:
            module = [sys.executable, "-m", "tests.faults.secluded"]
            done = run(["unshare", flags, *module])
            assert done.returncode == 0, done.stderr
            return cast(dict[str, int], json.loads(done.stdout))
    pytest.skip("no network of its own can be made here (unshare -n)")


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, check=False, text=True, timeout=100, cwd=PROJECT
    )


def test_no_code_at_all_not_even_chromas_reaches_for_the_network(corpus: Corpus) -> None:
    Scene(corpus).change(1)
    figures = secluded()
    assert (figures["exit code"], figures["hits"]) == (0, 6)
    assert (figures["to nowhere"], figures["datagrams"]) == (0, 0)
    assert figures["connections"] == figures["requests"] > 3  # each to the fake Ollama
    assert figures["strayed"] == 2  # so it would have been counted


def test_the_log_says_what_happened_and_nothing_of_the_documents(
    corpus: Corpus, store: Store, ollama: FakeOllama
) -> None:
    scene = Scene(corpus)
    scene.change(1)
    corpus.write("odd.md", "---\nnonsense: [\n---\nsecretword \xff\n".encode("latin-1"))
    assert ingest().returncode in (0, 1)
    ollama.stop()
    scene.change(2)
    assert ingest().returncode == 1
    corpus.path.rename(corpus.path.with_name("away"))
    assert ingest().returncode == 2
    text = (store.path / "ingest.log").read_text(encoding="utf-8")
    for part in ("started", "published", "6 failed", "nothing done: The corpus folder"):
        assert part in text, text
    for word in ("alpha", "secretword", "nonsense", "version 1"):
        assert word not in text
    assert os.sep not in text.split("started", maxsplit=1)[0]
