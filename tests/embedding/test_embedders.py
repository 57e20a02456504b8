from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from local_rag.embedding.batches import next_batch
from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput, title_slot
from local_rag.embedding.ollama import OllamaEmbedder, client_host, is_loopback, neutralised
from local_rag.errors import EmbedderAway, SettingsError, TextTooLong
from local_rag.settings import PROJECT_DIR


@pytest.mark.parametrize(
    ("words", "sizes"),
    [([40] * 20, [8, 8, 4]), ([300] * 7, [3, 3, 1]), ([2_000, 10, 10, 1_500], [1, 2, 1])],
)
def test_a_batch_is_as_short_as_somebody_who_asks_can_wait_for(
    words: list[int], sizes: list[int]
) -> None:
    embedder = OllamaEmbedder("127.0.0.1:9", "m")
    waiting = {bytes([n]): EmbeddingInput("", "word " * size) for n, size in enumerate(words)}
    found = []
    while waiting:
        keys = next_batch(embedder, waiting)
        found.append(len(keys))
        for key in keys:
            del waiting[key]
    assert found == sizes


ODD = {
    "OLLAMA_HOST": "127.0.0.1:abc",
    "ALL_PROXY": "socks5://127.0.0.1:9",
    "http_proxy": "ftp://x:1",
    "HTTPS_PROXY": "http://x:abc",
    "NO_PROXY": "[::1",
    "SSL_CERT_FILE": "/no/such/file",
}


@pytest.mark.parametrize("name", ODD)
def test_a_wrong_variable_costs_nobody_who_does_not_need_it(name: str) -> None:
    code = (
        "import os; from local_rag.embedding.ollama import OllamaEmbedder;"
        f"OllamaEmbedder('http://127.0.0.1:9', 'm'); print(os.environ[{name!r}])"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ODD}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_DIR, capture_output=True, text=True,
        env=environment | {name: ODD[name]}, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"{ODD[name]}\n", "")


@pytest.mark.parametrize("name", ["ALL_PROXY", "http_proxy", "HTTPS_PROXY", "NO_PROXY"])
def test_a_wrong_variable_on_the_way_to_ollama_elsewhere_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for other in ODD:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, ODD[name])
    with pytest.raises(SettingsError) as error:
        OllamaEmbedder("http://192.0.2.1:9", "m")
    assert str(error.value).startswith("Ollama at http://192.0.2.1:9 cannot be reached this way: ")
    assert str(error.value).endswith(" Unset or fix the proxy variables and SSL_CERT_FILE.")


@pytest.fixture(scope="module")
def builtin() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def test_the_built_in_model_tells_related_texts_from_others(builtin: BuiltinEmbedder) -> None:
    query = builtin.embed_query("How do I restore the database?")
    near, far = builtin.embed_documents(
        [
            EmbeddingInput("Failover", "Promote the replica after the database is lost."),
            EmbeddingInput("Cats", "Cats sleep all day."),
        ]
    )
    assert float(query @ near) > float(query @ far) + 0.2
    assert float(np.linalg.norm(near)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("title", ["", "A title", "word " * 300])
@pytest.mark.parametrize("words", [1, 220, 253])
def test_a_text_is_embedded_whole_and_its_title_as_far_as_it_fits(
    builtin: BuiltinEmbedder, title: str, words: int
) -> None:
    (vector,) = builtin.embed_documents([EmbeddingInput(title, "dog " * words)])
    assert vector.shape == (384,)


@pytest.mark.parametrize("title", ["", "A title"])
def test_a_text_over_the_limit_is_refused_and_never_cut(
    builtin: BuiltinEmbedder, title: str
) -> None:
    with pytest.raises(TextTooLong, match="more than 256 tokens"):
        builtin.embed_documents([EmbeddingInput(title, "dog " * 300)])


def test_a_long_question_is_cut(builtin: BuiltinEmbedder) -> None:
    assert builtin.embed_query("dog " * 3000).shape == (384,)


def test_special_tokens_in_a_text_are_text(builtin: BuiltinEmbedder) -> None:
    assert len(builtin.token_starts("[SEP]")) == 3


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EmbedderAway, match="weights are not installed"):
        BuiltinEmbedder(tmp_path).embed_query("x")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("[::]:9", "http://[::1]:9"),
        ("", "http://127.0.0.1:11434"),
        ("https://box.example", "https://box.example:443"),
        ("http://box.example/ollama/", "http://box.example:80/ollama"),
    ],
)
def test_a_servers_address_becomes_one_to_connect_to(host: str, url: str) -> None:
    assert client_host(host) == url


@pytest.mark.parametrize("host", ["localhost:abc", "http://[", "ftp://box", "http://box:99999"])
def test_a_host_that_is_no_address_is_named(host: str) -> None:
    with pytest.raises(SettingsError, match="is not an address"):
        client_host(host)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.5:1", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.1:1", False),
        ("http://box.example", False),
    ],
)
def test_loopback_is_known_by_name_and_address(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


def test_control_tokens_in_a_text_are_made_plain() -> None:
    text = "a <eos> b <start_of_turn>user <unused12> <h1> [multimodal] <b>"
    assert neutralised(text) == (
        "a < eos> b < start_of_turn>user < unused12> <h1> [ multimodal] <b>"
    )


@pytest.mark.parametrize(
    ("title", "headings", "slot"),
    [
        (None, [], ""),
        ("T", [], "T"),
        ("T", ["T", "B"], "T > B"),
        ("T", ["A", "B"], "T > A > B"),
        (None, ["A"], "A"),
    ],
)
def test_the_title_slot_is_title_and_trail(
    title: str | None, headings: list[str], slot: str
) -> None:
    assert title_slot(title, headings) == slot


def test_a_long_title_slot_keeps_its_end() -> None:
    slot = title_slot("T", ["word " * 50, "the last heading"])
    assert len(slot) <= 165
    assert slot.startswith("… ")
    assert slot.endswith("the last heading")


def test_a_key_depends_on_everything_that_the_vector_does() -> None:
    identity = EmbedderIdentity("ollama", "m", "d", 3, "s")
    keys = {
        EmbeddingInput("t", "x").key(identity),
        EmbeddingInput("t", "y").key(identity),
        EmbeddingInput("u", "x").key(identity),
        EmbeddingInput("t", "x").key(EmbedderIdentity("ollama", "m", "e", 3, "s")),
    }
    assert len(keys) == 4
