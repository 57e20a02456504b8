"""Who can see what: files, sockets, logs."""

from __future__ import annotations

import os
import stat
import sys
from urllib.parse import urlsplit

import pytest

from local_rag.snapshots import Store
from tests.conftest import Corpus
from tests.fake_ollama import FakeOllama
from tests.faults.audited import audited
from tests.faults.forked import Run, finished
from tests.faults.scenes import Scene, answered, ingest, server


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_nobody_else_can_read_the_store(corpus: Corpus, store: Store, ollama: FakeOllama) -> None:
    scene = Scene(corpus)
    scene.change(1)
    assert ingest().returncode == 0
    with server() as client:
        client.initialize()
        assert answered(client)[0] == scene.state
    open_to_others = {
        str(path): oct(mode)
        for path in [store.path, *store.path.rglob("*")]
        if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077
    }
    assert open_to_others == {}


def test_nothing_but_the_embedder_is_connected_to(corpus: Corpus, ollama: FakeOllama) -> None:
    Scene(corpus).change(1)
    done = finished(Run(audited))
    assert done.returncode == 0, done.stderr
    port = urlsplit(ollama.host).port
    assert set(done.stdout.splitlines()) == {f"('127.0.0.1', {port})"}, done.stdout


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
