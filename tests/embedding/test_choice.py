"""Which embedder a run gets, and what it is told about where its texts go."""

from __future__ import annotations

import pytest

from local_rag.embedding.choice import destination_of
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.settings import load_settings
from tests.conftest import Corpus, Quiet
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
