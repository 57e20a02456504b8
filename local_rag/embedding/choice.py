"""Which embedder is used. An index keeps the embedder that it was built with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from local_rag.embedding.base import Embedder, Sizing
from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.identity import EmbedderIdentity, identity_notices, plain_name
from local_rag.embedding.ollama import (
    SIZING,
    OllamaEmbedder,
    client_host,
    is_cloud_model,
    is_loopback,
)
from local_rag.errors import EmbedderAway
from local_rag.settings import Settings

log = logging.getLogger(__name__)
QUERY_TIMEOUT = 10.0  # seconds without a byte: Ollama loads EmbeddingGemma in 1 to 5
QUERY_LONGEST = 20.0  # seconds for a whole call


@dataclass(frozen=True)
class EmbedderChoice:
    """The identity of the index, and its embedder or why that cannot be used now.

    `destination` says where texts go that leave this machine, to be shown before the first does.
    """

    identity: EmbedderIdentity
    embedder: Embedder | None
    sizing: Sizing
    away: str = ""
    notices: tuple[str, ...] = ()
    destination: str = ""


def make_embedder(kind: str, settings: Settings) -> Embedder | None:
    """The embedder of that kind; None for keyword search only."""
    if kind == "ollama":
        cloud = settings.allow_cloud
        return OllamaEmbedder(settings.ollama_host, settings.model, allow_cloud=cloud)
    return BuiltinEmbedder(settings.builtin_model_dir) if kind == "builtin" else None


def query_embedder_for(settings: Settings, identity: EmbedderIdentity) -> Embedder | None:
    """The embedder for questions to an index of `identity`, with waits that suit a person."""
    if identity.kind == "ollama":
        where = destination_of(identity.kind, identity.model, settings.ollama_host)
        if where:
            log.warning("questions leave this machine: %s", where)
        return OllamaEmbedder(
            settings.ollama_host,
            _current_name(settings, identity),
            read_timeout=QUERY_TIMEOUT,
            longest_call=QUERY_LONGEST,
            allow_cloud=settings.allow_cloud,
        )
    return make_embedder(identity.kind, settings)


def weights_of(settings: Settings) -> str:
    """The digest of the model that the settings name; empty if Ollama cannot tell."""
    try:
        return OllamaEmbedder(
            settings.ollama_host,
            settings.model,
            read_timeout=QUERY_TIMEOUT,
            longest_call=QUERY_LONGEST,
        ).digest()
    except EmbedderAway:
        return ""


def _current_name(settings: Settings, identity: EmbedderIdentity) -> str:
    """The model's name in Ollama: the index's own, or the one that it was renamed to."""
    named = "model" in settings.model_fields_set
    if not named or plain_name(settings.model) == plain_name(identity.model):
        return identity.model
    return settings.model if weights_of(settings) == identity.digest else identity.model


def destination_of(kind: str, model: str, host: str) -> str:
    """Where texts go that leave this machine; empty if none do."""
    if kind != "ollama":
        return ""
    if is_cloud_model(model):
        return f"Ollama sends every text to ollama.com, which runs '{model}'."
    url = client_host(host)
    return "" if is_loopback(url) else f"Every text is sent to {url}, which is another machine."


def choose_for_new(
    settings: Settings, is_english: Callable[[], bool], previous: EmbedderIdentity | None = None
) -> EmbedderChoice:
    """The embedder for an index built from scratch, perhaps in place of `previous`.

    Raises:
        EmbedderAway: the one asked for is down, or `auto` would have to use another one than the
            index had, or than the model that a person named.
    """
    if settings.embedder == "none":
        return _keywords_only(settings)
    why: tuple[str, ...] = ()
    kinds = ("ollama", "builtin") if settings.embedder == "auto" else (settings.embedder,)
    for kind in kinds:
        embedder = make_embedder(kind, settings)
        assert embedder is not None
        try:
            identity = embedder.identity
        except EmbedderAway as error:
            named = kind == "ollama" and "model" in settings.model_fields_set
            if settings.embedder != "auto" or named or (previous and previous.kind == kind):
                raise
            why += (f"Not used: {embedder.name}. {error}",)
            continue
        if (
            settings.embedder == "auto"
            and embedder.languages == frozenset({"en"})
            and not is_english()
        ):
            why += (f"Not used: {embedder.name}. It knows English only; most documents are not.",)
            continue
        notices = identity_notices(identity, settings.model) + why
        where = destination_of(kind, settings.model, settings.ollama_host)
        return EmbedderChoice(identity, embedder, embedder.sizing, "", notices, where)
    return _keywords_only(settings, why)


def _keywords_only(settings: Settings, why: tuple[str, ...] = ()) -> EmbedderChoice:
    identity = EmbedderIdentity("none")
    notices = identity_notices(identity, settings.model) + why
    return EmbedderChoice(identity, None, SIZING, notices=notices)


def choose_for_existing(settings: Settings, stored: EmbedderIdentity) -> EmbedderChoice:
    """The store's own embedder, away or not. The settings must not ask for another one."""
    notices = identity_notices(stored, settings.model)
    embedder = make_embedder(stored.kind, settings)
    if embedder is None:
        return _keywords_only(settings)
    try:
        now = embedder.identity
    except EmbedderAway as error:
        return EmbedderChoice(stored, None, embedder.sizing, str(error), notices)
    if not now.matches(stored):
        why = f"{now.label} is not what the index was built with; run ingest.py --rebuild"
        return EmbedderChoice(stored, None, embedder.sizing, why, notices)
    where = destination_of(stored.kind, settings.model, settings.ollama_host)
    return EmbedderChoice(stored, embedder, embedder.sizing, "", notices, where)
