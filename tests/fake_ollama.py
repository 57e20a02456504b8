"""A small fake of Ollama's HTTP API on loopback, to be talked to through the real client.

Its vectors are sums of a random vector for each word, so texts that share words are alike. It
counts what it is asked for, and misbehaves on command.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSION = 64
TEXT = re.compile(r"^(?:task: search result \| query: |title: (?:.*?) \| text: )", re.DOTALL)


@functools.cache
def word_vector(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8")).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION)


def text_vector(text: str) -> list[float]:
    words = re.findall(r"\w+", TEXT.sub("", text).lower()) or ["-"]
    total = np.sum([word_vector(word) for word in words], axis=0)
    return [float(x) for x in total / np.linalg.norm(total)]


class Refusal(Exception):
    """An HTTP error that the fake answers with."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class FakeOllama:
    """The server. Faults are set as attributes while it runs."""

    def __init__(self) -> None:
        self.model, self.digest = "embeddinggemma", "a" * 64
        self.present = True
        self.copies: set[str] = set()  # other names of the same weights
        self.requests = 0
        self.texts: list[str] = []  # every text that it was asked to embed, probes included
        self.before_embed: Callable[[Sequence[str]], None] = lambda texts: None
        self.thawed = threading.Event()  # while it is not set, nothing is answered at all
        self.thawed.set()
        self.change_vectors: Callable[[list[list[float]]], Any] = lambda vectors: vectors
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.host = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.running = True

    def stop(self) -> None:
        self.thawed.set()
        if self.running:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self.running = False

    @property
    def documents(self) -> list[str]:
        """The texts of documents that were embedded, without probes."""
        known = ("probe", "title: none | text: The quick brown fox jumps over the lazy dog.")
        return [t for t in self.texts if t.startswith("title: ") and t not in known]

    def _names(self) -> set[str]:
        return {self.model, *self.copies} if self.present else self.copies

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        self.requests += 1
        self.thawed.wait()
        if path == "/api/version":
            return {"version": "0.12.9"}
        if path == "/api/tags":
            names = [f"{name}:latest" for name in self._names()]
            return {"models": [{"model": name, "digest": self.digest} for name in names]}
        if str(body.get("model")).removesuffix(":latest") not in self._names():
            raise Refusal(404, f'model "{body.get("model")}" not found, try pulling it first')
        if path == "/api/show":
            modelfile = f"# made by a test\nFROM /models/blobs/sha256-{self.digest}\n"
            details = {"format": "gguf", "family": "gemma-embedding", "families": []}
            return {"modelfile": modelfile, "details": details, "model_info": {}}
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        self.texts += texts
        self.before_embed(texts)
        vectors = self.change_vectors([text_vector(text) for text in texts])
        return {"model": self.model, "embeddings": vectors}

    def _handler(fake) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *arguments: object) -> None:
                pass

            def do_GET(self) -> None:
                self._reply({})

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                self._reply(json.loads(self.rfile.read(length)))

            def _reply(self, body: dict[str, Any]) -> None:
                try:
                    status, answer = 200, fake.answer(self.path, body)
                except Refusal as refusal:
                    status, answer = refusal.status, {"error": refusal.message}
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode("utf-8")
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                with suppress(ConnectionError):  # whoever asked was killed
                    self.wfile.write(data)

        return Handler
