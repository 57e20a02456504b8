"""EmbeddingGemma through Ollama: prefixes, bounded waits, and its failures told apart.

The prefixes are those of the EmbeddingGemma model card ("Prompt Instructions", tasks Retrieval
query and document); Ollama adds none itself. A failure that may pass is `EmbedderAway`, and the
next ingest tries again.
"""

from __future__ import annotations

import ipaddress
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import httpx

from local_rag.chunking.sizes import ESTIMATED_BUDGET
from local_rag.embedding.base import Sizing, Vector, checked_vectors
from local_rag.embedding.call_limits import CallLimits
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import (
    EmbedderAway,
    EmbedderFaltered,
    SettingsError,
    TextRejected,
    TextTooLong,
)

# The library creates a client on import, from OLLAMA_HOST, proxies and certificates in the
# environment, and fails if one of them is wrong (`ALL_PROXY=socks5://...`), even if an index
# without Ollama, or Ollama on this machine, needs none of it.
READ_AT_IMPORT = re.compile(r"(?i)OLLAMA_HOST|\w+_PROXY|SSL_CERT_(?:FILE|DIR)")
_hidden = {
    name: os.environ.pop(name) for name in list(os.environ) if READ_AT_IMPORT.fullmatch(name)
}


try:
    import ollama
finally:
    os.environ.update(_hidden)


T = TypeVar("T")
PREFIX_SCHEME = "gemma-1"  # raise it when a prefix or the title slot changes
QUERY_PREFIX = "task: search result | query: "
DOCUMENT_PREFIX = "title: {title} | text: {text}"
LONGEST_QUERY_TEXT = 4_000  # characters: under 2,046 tokens in any script but rare symbols
RETRY_PAUSES = (0.5, 2.0)  # seconds; only after a 503 (busy)
# Gemma's tokenizer reads these in plain text as control tokens (tokenizer_config.json).
CONTROL_TOKEN = re.compile(
    r"<(?=(?:bos|eos|pad|unk|mask|start_of_turn|end_of_turn|start_of_image|end_of_image"
    r"|image_soft_token|unused\d+)>)|\[(?=multimodal\])"
)
# Each is at least one token: short Latin pieces, single digits, pieces of other scripts, symbols.
# Measured on four corpora: 0.72 to 0.87 real tokens for each of these, 1.07 at the most.
ESTIMATED_TOKEN = re.compile(
    r"[A-Za-z]{1,5}|\d|[\u2e80-\u9fff\uac00-\ud7af]|[^\W\d_A-Za-z]{1,3}|[^\s\w]|_"
)


def estimate_token_starts(text: str) -> list[int]:
    """The estimated start of each token; about a fifth more than Gemma's tokenizer finds."""
    return [match.start() for match in ESTIMATED_TOKEN.finditer(text)]


SIZING = Sizing(ESTIMATED_BUDGET, estimate_token_starts)


def neutralised(text: str) -> str:
    """`text` with a blank inside whatever Gemma would read as a control token."""
    return CONTROL_TOKEN.sub(lambda match: match[0] + " ", text)


class OllamaEmbedder:
    """An EmbeddingGemma (or other embedding model) served by Ollama at `host`."""

    batch_size = 8
    # Ollama embeds one request after the other, and a question asked during an ingest gives up
    # after 10 s. A batch of eight takes that long at one chunk a second.
    batch_tokens = 1_000.0
    languages = None
    sizing = SIZING  # estimated: Ollama's API has no tokenizer

    def __init__(
        self,
        host: str,
        model: str,
        *,
        read_timeout: float = 300.0,
        longest_call: float = 300.0,
        allow_cloud: bool = False,
    ) -> None:
        self._host, self._model = client_host(host), model
        self._auth, self._allow_cloud = basic_auth(host), allow_cloud
        self._limits = CallLimits(longest_call)
        try:
            self._client = ollama.Client(
                self._host,
                timeout=httpx.Timeout(read_timeout, connect=min(5.0, read_timeout)),
                trust_env=not is_loopback(self._host),  # a proxy variable must not catch loopback
                # A kept connection outlives a restart of Ollama, and the next request fails on it.
                limits=httpx.Limits(max_keepalive_connections=0),
                follow_redirects=False,  # another host would get the texts
                auth=self._auth,
                headers={"accept-encoding": "identity"},
                event_hooks=self._limits.event_hooks,
            )
        except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
            what = f"Ollama at {self._host} cannot be reached this way: {error}."
            raise SettingsError(
                what, "Unset or fix the proxy variables and SSL_CERT_FILE."
            ) from error
        self._identity: EmbedderIdentity | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's identity, asked for once. Raises `EmbedderAway`."""
        if self._identity is None:
            try:
                dimension, digest = len(self._embed(["probe"], None)[0]), self.digest()
            except TextRejected as error:  # not even a probe: the text is not at fault
                what = f"Ollama's '{self._model}' does not embed: {error}"
                raise EmbedderAway(what, "Use an embedding model, or restart Ollama.") from error
            self._identity = EmbedderIdentity(
                "ollama", self._model, digest, dimension, PREFIX_SCHEME
            )
        return self._identity

    def digest(self) -> str:
        """The current weights' identity: the blob in the Modelfile, else the listed digest.

        Raises:
            EmbedderAway: Ollama does not respond, or lacks the model.
        """
        shown = self._call(lambda: self._client.show(self._model))
        blob = re.search(r"^FROM\s.*sha256[-:]([0-9a-f]{12,64})", shown.modelfile or "", re.M)
        if blob:
            return blob[1]
        names = {self._model, f"{self._model}:latest"}
        listed = self._call(self._client.list).models
        return next((m.digest or "" for m in listed if m.model in names), "")

    def embed_documents(self, passages: Sequence[EmbeddingInput]) -> list[Vector]:
        """One vector for each passage, with the document prefix."""
        texts = [
            neutralised(DOCUMENT_PREFIX.format(title=p.title or "none", text=p.text))
            for p in passages
        ]
        return self._embed(texts, self.identity.dimension)

    def embed_query(self, query: str) -> Vector:
        """The question's vector, with the query prefix."""
        text = neutralised(QUERY_PREFIX + query[:LONGEST_QUERY_TEXT])
        return self._embed([text], self._identity.dimension if self._identity else None)[0]

    @property
    def name(self) -> str:
        """Ollama and its address."""
        return f"Ollama at {self._host}"

    def is_up(self, seconds: float) -> bool:
        """Whether Ollama responds within `seconds`; it does even while busy embedding."""
        try:
            url, trust_env = f"{self._host}/api/version", not is_loopback(self._host)
            # Streamed: whatever the answer is, nothing of it is read.
            with httpx.stream("GET", url, timeout=seconds, trust_env=trust_env, auth=self._auth):
                return True
        except httpx.HTTPError:
            return False

    def _embed(self, texts: list[str], dimension: int | None) -> list[Vector]:
        if is_cloud_model(self._model) and not self._allow_cloud:
            what = f"Ollama does not run '{self._model}' itself: it sends every text to ollama.com."
            remedy = "Use a local model, or set RAG_ALLOW_CLOUD=1 to allow that."
            raise EmbedderAway(what, remedy)
        response = self._call(lambda: self._client.embed(self._model, texts, truncate=False))
        return checked_vectors(response.embeddings, len(texts), dimension)

    def _call(self, request: Callable[[], T]) -> T:
        try:
            with self._limits.call():
                return self._retried(request)
        except httpx.TimeoutException as error:
            raise EmbedderAway(
                f"Ollama at {self._host} did not respond in time.",
                "It may be loading the model; try again, or restart Ollama.",
            ) from error
        except httpx.HTTPError as error:
            raise EmbedderFaltered(
                f"The connection to Ollama broke ({error}).", "Try again."
            ) from error
        except ValueError as error:  # invalid JSON, or a field that the client's models reject
            raise TextRejected("Ollama returned something unreadable.", "") from error

    def _retried(self, request: Callable[[], T]) -> T:
        for pause in (*RETRY_PAUSES, None):
            try:
                return request()
            except ollama.ResponseError as error:
                if error.status_code != httpx.codes.SERVICE_UNAVAILABLE or pause is None:
                    raise self._translated(error) from error
                time.sleep(pause)
            except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise EmbedderAway(
                    f"Ollama is not running at {self._host}.", "Start it (ollama serve)."
                ) from error
        raise AssertionError("the last pause is None")

    def _translated(self, error: ollama.ResponseError) -> Exception:
        text = " ".join(str(error.error).split())[:200]
        # By text, not status: since 0.15 a crashed runner answers 400 too.
        if re.search(r"exceed.*context length", text):
            return TextTooLong("A text is longer than the model's context.", "")
        if re.search(r"NaN|invalid input|unsupported value", text):
            return TextRejected(f"Ollama refused a text ({text}).", "")
        if error.status_code == httpx.codes.BAD_REQUEST:
            return TextRejected(f"Ollama refused a text ({text}).", "")
        reason = self._refusal(error.status_code)
        if reason:
            return EmbedderAway(*reason)
        remedy = "Restart Ollama, or look at its log."
        return EmbedderFaltered(f"Ollama failed with status {error.status_code} ({text}).", remedy)

    def _refusal(self, status: int) -> tuple[str, str] | None:
        """What a status means that has nothing to do with the text, and its remedy."""
        if httpx.codes.is_redirect(status):
            what = f"Ollama at {self._host} redirects to another address, which gets no text."
            return what, "Set OLLAMA_HOST to the address that is meant."
        return {
            401: (
                f"Ollama at {self._host} wants a name and password.",
                "Set OLLAMA_HOST to http://name:password@host:port.",
            ),
            403: (
                f"Ollama at {self._host} refused the request.",
                "Allow this machine in OLLAMA_ORIGINS, or change OLLAMA_HOST.",
            ),
            404: (f"Ollama has no model '{self._model}'.", f"Run: ollama pull {self._model}"),
            503: ("Ollama is busy.", "Try again in a moment."),
        }.get(status)


def client_host(host: str) -> str:
    """The URL to connect to. A server's `0.0.0.0` or `[::]` means loopback to a client.

    Raises:
        SettingsError: it is not an address.
    """
    url = host.strip() if "://" in host else f"http://{host.strip() or '127.0.0.1'}"
    default_ports = {"http": 11434 if "://" not in host else 80, "https": 443}
    try:
        parts = urlsplit(url)
        port = parts.port or default_ports[parts.scheme]
    except (ValueError, KeyError):
        what = f"OLLAMA_HOST {without_password(host)[:80]!r} is not an address."
        raise SettingsError(what, "Write it as http://127.0.0.1:11434.") from None
    name = parts.hostname or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104 - never listened on
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"


def basic_auth(host: str) -> httpx.BasicAuth | None:
    """The name and password in an address, which Ollama's own client drops."""
    parts = urlsplit(host.strip() if "://" in host else f"http://{host.strip()}")
    if parts.username is None:
        return None
    return httpx.BasicAuth(unquote(parts.username), unquote(parts.password or ""))


def without_password(host: str) -> str:
    """An address as it may be shown and logged."""
    return re.sub(r"^((?:[^:/@]*://)?)[^/]*@", r"\1", host)


def is_cloud_model(model: str) -> bool:
    """Whether Ollama passes the texts on, as it does for `x:cloud` and `x:1b-cloud`."""
    return re.search(r"(?i)[:-]cloud$", model.strip()) is not None


def is_loopback(url: str) -> bool:
    """Whether `url` leads to this machine by name or address."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
