from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.ollama import OllamaEmbedder
from local_rag.embedding.query_embedder import OUTAGE, RECHECK, QueryEmbedder
from local_rag.errors import EmbedderAway, EmbedderChanged, TextRejected
from tests.fake_ollama import FakeOllama


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def embedder_of(fake: FakeOllama) -> OllamaEmbedder:
    return OllamaEmbedder(fake.host, fake.model, read_timeout=30.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queries(ollama: FakeOllama, clock: Clock) -> QueryEmbedder:
    return QueryEmbedder(lambda identity: embedder_of(ollama), clock, patience=0.2)


@pytest.fixture
def identity(ollama: FakeOllama) -> EmbedderIdentity:
    return embedder_of(ollama).identity


def test_a_query_has_its_own_prefix(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama
) -> None:
    vector = queries.vector("alpha", identity, ())
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
    assert ollama.texts[-1] == "task: search result | query: alpha"


def test_an_outage_is_remembered_for_a_short_while_and_then_over(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama, clock: Clock
) -> None:
    queries.vector("alpha", identity, ())
    ollama.present = False
    with pytest.raises(EmbedderAway, match="ollama pull"):
        queries.vector("alpha", identity, ())
    ollama.present = True
    with pytest.raises(EmbedderAway, match="ollama pull"):
        queries.vector("alpha", identity, ())
    clock.now += OUTAGE
    assert len(queries.vector("alpha", identity, ())) == identity.dimension


def test_an_embedder_that_hangs_is_given_up_and_comes_back_by_itself(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama, clock: Clock
) -> None:
    queries.vector("alpha", identity, ())
    ollama.thawed.clear()
    with pytest.raises(EmbedderAway, match="does not respond"):
        queries.vector("alpha", identity, ())
    ollama.thawed.set()
    clock.now += OUTAGE
    assert len(queries.vector("alpha", identity, ())) == identity.dimension


def test_an_embedder_that_is_busy_is_waited_for(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama
) -> None:
    queries.vector("alpha", identity, ())
    asked_if_up, real = threading.Event(), ollama.answer

    def busy(texts: Sequence[str]) -> None:
        assert asked_if_up.wait(20)

    def answer(path: str, body: dict[str, object]) -> object:
        if path == "/api/version":
            asked_if_up.set()
        return real(path, body)

    ollama.before_embed = busy
    ollama.answer = answer  # type: ignore[method-assign]
    assert len(queries.vector("alpha", identity, ())) == identity.dimension


def test_an_embedder_that_is_up_and_never_answers_is_given_up(
    identity: EmbedderIdentity, ollama: FakeOllama, clock: Clock
) -> None:
    queries = QueryEmbedder(lambda identity: embedder_of(ollama), clock, 0.2, longest=0.3)
    queries.vector("alpha", identity, ())
    answered = threading.Event()
    ollama.before_embed = lambda texts: assert_waited(answered)
    with pytest.raises(EmbedderAway, match=r"did not respond within 0\.3 seconds"):
        queries.vector("beta", identity, ())
    answered.set()


def test_a_slow_question_does_not_hold_up_another(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama
) -> None:
    queries.vector("alpha", identity, ())
    slow_arrived, quick_answered = threading.Event(), threading.Event()

    def before(texts: Sequence[str]) -> None:
        if "slow" in texts[0]:
            slow_arrived.set()
            assert_waited(quick_answered)

    ollama.before_embed = before
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(queries.vector, "slow", identity, ())
        assert_waited(slow_arrived)
        assert len(queries.vector("quick", identity, ())) == identity.dimension
        quick_answered.set()
        assert len(slow.result()) == identity.dimension


def test_an_embedder_is_made_and_checked_once_however_many_ask(
    identity: EmbedderIdentity, ollama: FakeOllama
) -> None:
    made: list[EmbedderIdentity] = []

    def make(wanted: EmbedderIdentity) -> OllamaEmbedder:
        made.append(wanted)
        return embedder_of(ollama)

    queries = QueryEmbedder(make)
    with ThreadPoolExecutor(6) as pool:
        vectors = list(pool.map(lambda n: queries.vector(f"q{n}", identity, ()), range(6)))
    assert (len(vectors), made) == (6, [identity])


def assert_waited(event: threading.Event) -> None:
    assert event.wait(30)


def test_a_model_that_is_replaced_while_serving_is_noticed(
    queries: QueryEmbedder, identity: EmbedderIdentity, ollama: FakeOllama, clock: Clock
) -> None:
    queries.vector("alpha", identity, ())
    ollama.digest = "c" * 64
    clock.now += RECHECK + 1
    with pytest.raises(EmbedderChanged, match="not the embedder"):
        queries.vector("alpha", identity, ())


def test_the_built_in_embedder_is_not_asked_in_another_language() -> None:
    queries = QueryEmbedder(lambda identity: BuiltinEmbedder())
    identity = BuiltinEmbedder().identity
    with pytest.raises(TextRejected, match="knows only en"):
        queries.vector("Как обновить базу данных и что для этого нужно?", identity, ())
    assert len(queries.vector("How do I update the database?", identity, ())) == 384
