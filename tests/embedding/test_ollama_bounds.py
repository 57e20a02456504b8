"""What a server in Ollama's place can do to whoever calls it: redirect, drip, never end, refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from local_rag.embedding.input import EmbeddingInput
from local_rag.embedding.ollama import OllamaEmbedder, is_cloud_model
from local_rag.errors import EmbedderAway, SettingsError
from tests.fake_ollama import FakeOllama

Reply = Callable[[BaseHTTPRequestHandler], None]
TEXTS = [EmbeddingInput("", "private")]


class Stranger:
    """A server that does as `reply` says, whatever it is asked."""

    def __init__(self) -> None:
        self.reply: Reply = lambda request: None
        self.over = threading.Event()
        stranger = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                stranger.reply(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    server = Stranger()
    yield server
    server.stop()


def send(request: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(stranger: Stranger, ollama: FakeOllama, status: int) -> None:
    stranger.reply = lambda request: send(request, status, location=f"{ollama.host}/api/embed")
    with pytest.raises(EmbedderAway, match="redirects to another address, which gets no text"):
        OllamaEmbedder(stranger.address, "m").embed_query("private")
    assert ollama.requests == 0


def test_an_answer_without_end_is_given_up(stranger: Stranger) -> None:
    def reply(request: BaseHTTPRequestHandler) -> None:
        send(request, 200)
        try:
            while True:
                request.wfile.write(b" " * 1_000_000)
        except OSError:
            pass

    stranger.reply = reply
    with pytest.raises(EmbedderAway, match="more than 16 MB"):
        OllamaEmbedder(stranger.address, "m").embed_query("x")


def test_a_compressed_answer_is_refused_before_it_is_unpacked(stranger: Stranger) -> None:
    stranger.reply = lambda request: send(request, 200, content_encoding="gzip")
    with pytest.raises(EmbedderAway, match="compressed"):
        OllamaEmbedder(stranger.address, "m").embed_query("x")


@pytest.mark.parametrize("part", ["head", "body", "body that only the end of the connection ends"])
def test_a_dripping_answer_is_given_up_when_the_whole_call_has_taken_too_long(
    stranger: Stranger, part: str
) -> None:
    def reply(request: BaseHTTPRequestHandler) -> None:
        if part == "head":
            request.wfile.write(b"HTTP/1.1 200 OK\r\n")
        else:
            send(request, 200, **({"content_length": "99999"} if part == "body" else {}))
        drop = b"X-A: 1\r\n" if part == "head" else b" "
        try:
            while not stranger.over.wait(0.02):
                request.wfile.write(drop)
        except OSError:
            pass

    stranger.reply = reply
    embedder = OllamaEmbedder(stranger.address, "m", read_timeout=30.0, longest_call=0.3)
    with pytest.raises(EmbedderAway, match="did not respond in time"):
        embedder.embed_query("x")


def test_the_name_and_password_of_an_address_are_sent_and_never_shown(stranger: Stranger) -> None:
    seen: list[str | None] = []

    def reply(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers.get("authorization"))
        send(request, 401)

    stranger.reply = reply
    embedder = OllamaEmbedder(f"http://ann:p%40ss@{stranger.address}", "m")
    with pytest.raises(EmbedderAway) as error:
        embedder.embed_query("x")
    assert seen == ["Basic YW5uOnBAc3M="]
    assert str(error.value) == (
        f"Ollama at http://{stranger.address} wants a name and password. "
        "Set OLLAMA_HOST to http://name:password@host:port."
    )
    assert embedder.name == f"Ollama at http://{stranger.address}"


def test_a_wrong_address_is_named_without_its_password() -> None:
    with pytest.raises(SettingsError) as error:
        OllamaEmbedder("http://ann:secret@box:99999", "m")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("model", "is_cloud"),
    [
        ("minimax-m2:cloud", True),
        ("gpt-oss:120b-cloud", True),
        ("GPT-OSS:120B-Cloud", True),
        ("embeddinggemma", False),
        ("cloudy:latest", False),
        ("cloud:1b", False),
    ],
)
def test_a_cloud_model_is_known_by_its_name(model: str, is_cloud: bool) -> None:
    assert is_cloud_model(model) is is_cloud


def test_a_cloud_model_gets_no_text_unless_that_is_allowed(ollama: FakeOllama) -> None:
    ollama.model = "m:1b-cloud"
    for ask in (
        lambda e: e.identity,
        lambda e: e.embed_query("private"),
        lambda e: e.embed_documents(TEXTS),
    ):
        with pytest.raises(EmbedderAway) as error:
            ask(OllamaEmbedder(ollama.host, ollama.model))
        assert str(error.value) == (
            "Ollama does not run 'm:1b-cloud' itself: it sends every text to ollama.com. "
            "Use a local model, or set RAG_ALLOW_CLOUD=1 to allow that."
        )
    assert ollama.texts == []
    allowed = OllamaEmbedder(ollama.host, ollama.model, allow_cloud=True)
    assert len(allowed.embed_query("public")) == 64
    assert json.dumps(ollama.texts) == '["task: search result | query: public"]'
