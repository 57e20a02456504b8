"""The embedder failing in each of its ways: what becomes of the run, and how often it is asked."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from local_rag.embedding.choice import make_embedder, query_embedder_for
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.ollama import PREFIX_SCHEME, OllamaEmbedder
from local_rag.index.catalog import Catalog
from local_rag.index.snapshots import Store
from local_rag.settings import Settings
from tests.calling import calls
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama, Refusal
from tests.faults.scenes import Scene, ingest
from tests.ingest.test_run import indexed

Fault = Callable[[FakeOllama], None]


def refusing(status: int, message: str = "no") -> Fault:
    def fault(ollama: FakeOllama) -> None:
        def refuse(texts: Sequence[str]) -> None:
            raise Refusal(status, message)

        ollama.before_embed = refuse

    return fault


def answering(change: Callable[[list[list[float]]], Any]) -> Fault:
    def fault(ollama: FakeOllama) -> None:
        ollama.change_vectors = change

    return fault


def cut_short(ollama: FakeOllama) -> None:
    real = ollama.answer
    ollama.answer = (  # type: ignore[method-assign]
        lambda path, body: b'{"embeddings": [[0.1, 0.' if path == "/api/embed" else real(path, body)
    )


FAULTS: dict[str, tuple[Fault, str]] = {
    "not running": (FakeOllama.stop, "Ollama is not running"),
    "400": (refusing(400), "Ollama refused a text"),
    "404": (refusing(404), "ollama pull embeddinggemma"),
    "500": (refusing(500), "Ollama failed with status 500"),
    "503": (refusing(503), "Ollama is busy"),
    "403": (refusing(403), "refused the request"),
    "body cut short": (cut_short, "unreadable"),
    "one too few": (answering(lambda v: v[:-1]), "vectors for"),
    "other dimension": (
        answering(lambda v: [[*x, 0.0] for x in v]),
        "not what the index was built",
    ),
    "NaN": (answering(lambda v: [[math.nan] * len(x) for x in v]), ""),
    "null": (answering(lambda v: [[None] * len(x) for x in v]), ""),
    "zeros": (answering(lambda v: [[0.0] * len(x) for x in v]), "not of length 1"),
    "not of length 1": (answering(lambda v: [[y * 1.1 for y in x] for x in v]), "length 1"),
    "others under the same name": (answering(lambda v: [x[::-1] for x in v]), "no longer match"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failing_embedder_changes_nothing_says_why_and_is_asked_a_few_times(
    scene: Scene,
    store: Store,
    ollama: FakeOllama,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    before = indexed(store)
    scene.write(1, 9)
    scene.write(99, 9)
    monkeypatch.setattr("local_rag.embedding.ollama.RETRY_PAUSES", (0.0, 0.0))
    fault, why = FAULTS[name]
    fault(ollama)
    report = run()
    assert report.exit_code == 1
    assert [remark.path for remark in report.failed] == ["01.md", "99.md"]
    assert all(why in remark.text for remark in report.failed), report.failed
    assert indexed(store) == before
    assert store.current().manifest.pending == 2
    assert len(ollama.texts) <= 8


def test_one_poisonous_text_in_a_thousand_costs_its_own_file_alone(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for number in range(1000):
        corpus.write(f"{number:03}.md", f"note {number} {'poison' if number == 777 else ''}")

    def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise Refusal(500, "llama runner process has terminated")

    ollama.before_embed = refuse
    report = run()
    assert [remark.path for remark in report.failed] == ["777.md"]
    assert store.current().manifest.files == 999
    assert len(ollama.texts) < 1100


def test_an_embedder_that_has_changed_is_never_mixed_in_and_a_rebuild_takes_it_whole(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    corpus.write("b.md", "beta")
    run()
    ollama.change_vectors = lambda vectors: [vector[::-1] for vector in vectors]
    corpus.write("c.md", "gamma")
    assert [remark.path for remark in run().failed] == ["c.md"]
    ollama.texts.clear()
    assert run(rebuild=True).exit_code == 0
    assert len(ollama.documents) == 3
    corpus.write("d.md", "delta")
    assert run().exit_code == 0


@pytest.mark.parametrize(
    ("sql", "embedded"),
    [
        ("UPDATE vectors SET vector = zeroblob(length(vector))", 19),
        ("UPDATE vectors SET vector = substr(vector, 1, 30)", 19),
        ("UPDATE vectors SET vector = x'00'", 19),
        ("UPDATE vectors SET used = 1", 0),
    ],
)
def test_damaged_vectors_in_the_cache_are_not_believed(
    scene: Scene, store: Store, ollama: FakeOllama, run: Run, sql: str, embedded: int
) -> None:
    for name in store.finished():
        (store.path / "snapshots" / name / "keywords.sqlite3").write_bytes(b"")
    with closing(sqlite3.connect(store.cache)) as database, database:
        database.execute(sql)
    assert run().exit_code == 0
    assert len(ollama.documents) == embedded
    with closing(Catalog.open(store.current().catalog)) as catalog:
        assert len(catalog.files()) == len(scene.state)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_cache_with_damaged_pages_is_put_aside(
    scene: Scene, store: Store, ollama: FakeOllama, part: float
) -> None:
    scene.corpus.write(
        "long.md", "".join(f"## P{n}\n\n{'word ' * 100} {n}\n\n" for n in range(100))
    )
    assert ingest().returncode == 0
    data = bytearray(store.cache.read_bytes())
    start = int(len(data) * part)
    data[start : start + 20_000] = b"\xff" * 20_000
    store.cache.write_bytes(data)
    scene.change(1)
    done = ingest("--rebuild")
    assert done.returncode == 0, done.stderr
    assert ingest("--verify").returncode == 0


@pytest.fixture
def withheld(ollama: FakeOllama) -> Iterator[Callable[[], None]]:
    """From its call on Ollama is up, and answers no request for vectors before the test is over."""
    over = threading.Event()

    def wait(texts: Sequence[str]) -> None:
        assert over.wait(60)

    yield lambda: setattr(ollama, "before_embed", wait)
    over.set()


def test_an_answer_that_takes_too_long_is_given_up_by_ingest_and_comes_with_the_next_run(
    scene: Scene,
    ollama: FakeOllama,
    run: Run,
    withheld: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene.write(1, 9)
    limits: dict[str, Any] = OllamaEmbedder.__init__.__kwdefaults__
    monkeypatch.setitem(limits, "read_timeout", 0.5)
    known, asked = ollama.answer, ollama.texts

    def late(path: str, body: dict[str, Any]) -> Any:
        if any("version 9" in str(text) for text in body.get("input", ())):
            withheld()
        return known(path, body)

    ollama.answer = late  # type: ignore[method-assign]
    report = run()
    assert [remark.path for remark in report.failed] == ["01.md"]
    assert "did not respond in time" in report.failed[0].text
    assert sum("version 9" in text for text in asked) == 1
    with calls() as call:
        assert "version 1\n" in call("get_file", path="01.md")["text"]
    ollama.before_embed = lambda texts: None
    ollama.answer = known  # type: ignore[method-assign]
    assert (run().changed, run().changed) == (1, 0)


def test_an_answer_that_takes_too_long_leaves_a_question_to_keywords(
    scene: Scene, withheld: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_rag.embedding.choice.QUERY_TIMEOUT", 0.5)
    with calls() as call:
        withheld()
        found = call("search_corpus", query="alpha1")
    assert found["hits"][0]["path"] == "01.md"
    (notice,) = (n for n in found["notices"] if "Keyword matches only" in n)
    assert "did not respond in time" in notice


def test_a_minute_is_within_the_patience_of_ingest_and_beyond_that_of_a_question(
    settings: Settings,
) -> None:
    """What the limits above really are, for who must not wait for a minute to test one."""
    identity = EmbedderIdentity("ollama", settings.model, "", 64, PREFIX_SCHEME)
    by_ingest, by_question = (
        make_embedder("ollama", settings),
        query_embedder_for(settings, identity),
    )
    waits = [e._client._client.timeout for e in (by_ingest, by_question)]  # type: ignore[union-attr]
    assert [(w.read, w.connect) for w in waits] == [(300.0, 5.0), (10.0, 5.0)]
