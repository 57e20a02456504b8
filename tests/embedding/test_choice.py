"""Which embedder a run gets, and what it is told about where its texts go."""

from __future__ import annotations

import pytest

from local_rag.embedding.choice import choose_for_new, destination_of, query_embedder_for
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.errors import EmbedderAway, EmbedderChanged
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.settings import load_settings
from tests.conftest import Corpus, Quiet, Run
from tests.fake_ollama import FakeOllama


class Told(Quiet):
    """Progress that keeps, of each notice, how many documents had been embedded before it."""

    def __init__(self, ollama: FakeOllama) -> None:
        self.ollama, self.notices = ollama, list[tuple[str, int]]()

    def notice(self, text: str) -> None:
        self.notices.append((text, len(self.ollama.documents)))


@pytest.mark.parametrize(
    ("kind", "model", "host", "said"),
    [
        ("ollama", "m", "http://127.0.0.1:11434", ""),
        ("ollama", "m", "localhost", ""),
        ("builtin", "m", "box", ""),
        ("none", "", "box", ""),
        (
            "ollama", "m", "http://ann:secret@box:1",
            "Every text is sent to http://box:1, which is another machine.",
        ),
        (
            "ollama", "m:cloud", "127.0.0.1",
            "Ollama sends every text to ollama.com, which runs 'm:cloud'.",
        ),
    ],
)  # fmt: skip
def test_where_texts_go_is_said_if_they_leave_this_machine(
    kind: str, model: str, host: str, said: str
) -> None:
    assert destination_of(kind, model, host) == said


def test_a_cloud_model_that_is_allowed_is_named_before_the_first_document_is_sent(
    corpus: Corpus, ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    ollama.model = "m:cloud"
    monkeypatch.setenv("RAG_MODEL", "m:cloud")
    monkeypatch.setenv("RAG_ALLOW_CLOUD", "1")
    told = Told(ollama)
    run_ingest(load_settings(), Options(), told)
    assert told.notices == [("Ollama sends every text to ollama.com, which runs 'm:cloud'.", 0)]
    assert len(ollama.documents) == 1


def test_a_model_that_a_person_named_is_never_replaced(
    corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    monkeypatch.setenv("RAG_MODEL", "nomic-embed-text")
    with pytest.raises(EmbedderAway) as error:
        run()
    assert str(error.value) == (
        "Ollama has no model 'nomic-embed-text'. Run: ollama pull nomic-embed-text"
    )


def test_a_fallback_says_what_it_replaces_and_why(corpus: Corpus, ollama: FakeOllama) -> None:
    ollama.present = False
    choice = choose_for_new(load_settings(), lambda: True)
    assert choice.identity.kind == "builtin"
    assert choice.notices[1:] == (
        f"Not used: Ollama at {ollama.host}. "
        "Ollama has no model 'embeddinggemma'. Run: ollama pull embeddinggemma",
    )


def test_no_embedder_for_the_language_is_said_too(corpus: Corpus, ollama: FakeOllama) -> None:
    ollama.present = False
    choice = choose_for_new(load_settings(), lambda: False)
    assert choice.identity.kind == "none"
    assert choice.notices[2:] == (
        "Not used: The built-in embedder. It knows English only; most documents are not.",
    )


@pytest.mark.parametrize("name", ["embeddinggemma:latest", "my-copy"])
@pytest.mark.parametrize("renamed", [False, True])
def test_the_same_weights_by_another_name_are_the_same_model(
    corpus: Corpus,
    ollama: FakeOllama,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    renamed: bool,
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.copies = {name.removesuffix(":latest")}
    ollama.present = not renamed
    monkeypatch.setenv("RAG_MODEL", name)
    assert run().exit_code == 0
    corpus.write("b.md", "beta")
    report = run()
    assert (report.exit_code, report.new, report.embedded) == (0, 1, 1)
    stored = EmbedderIdentity("ollama", "embeddinggemma", "a" * 64, 64, "gemma-1")
    embedder = query_embedder_for(load_settings(), stored)
    assert embedder is not None
    assert embedder.identity.matches(stored)


def test_other_weights_by_another_name_are_another_model(
    corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.model, ollama.digest = "other", "b" * 64
    monkeypatch.setenv("RAG_MODEL", "other")
    with pytest.raises(EmbedderChanged, match="settings ask for ollama/other"):
        run()
