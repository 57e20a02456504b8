"""Which embedder a run uses. A store keeps the regime it was built in.

Leaves out how the embedders work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from local_rag.embedding.base import Embedder, Sizing
from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.identity import Regime, check_asked, regime_notices
from local_rag.embedding.ollama import SIZING, OllamaEmbedder
from local_rag.errors import EmbedderAway
from local_rag.settings import Settings

QUERY_TIMEOUT = 10.0  # seconds: Ollama loads EmbeddingGemma in 1 to 5


@dataclass(frozen=True)
class Choice:
    """The regime of the store, its embedder if that can be used now, else why not."""

    regime: Regime
    embedder: Embedder | None
    sizing: Sizing
    away: str = ""
    notices: tuple[str, ...] = ()


def make_embedder(kind: str, settings: Settings) -> Embedder | None:
    """The embedder of that kind; None for keywords alone."""
    if kind == "ollama":
        return OllamaEmbedder(settings.ollama_host, settings.model)
    return BuiltinEmbedder(settings.builtin_model_dir) if kind == "builtin" else None


def for_queries(settings: Settings, regime: Regime) -> Embedder | None:
    """The embedder for questions to a store of `regime`, with the waits of a person asking."""
    if regime.kind == "ollama":
        return OllamaEmbedder(settings.ollama_host, regime.model, read_timeout=QUERY_TIMEOUT)
    return make_embedder(regime.kind, settings)


def choose_for_new(
    settings: Settings, is_english: Callable[[], bool], previous: Regime | None = None
) -> Choice:
    """The embedder for a store that is built from nothing, perhaps in place of `previous`.

    Raises:
        EmbedderAway: the one that is asked for is away, or `auto` would have to go back from
            Ollama to something worse.
    """
    if settings.embedder == "none":
        return _keywords_only(settings)
    kinds = ("ollama", "builtin") if settings.embedder == "auto" else (settings.embedder,)
    for kind in kinds:
        embedder = make_embedder(kind, settings)
        assert embedder is not None
        try:
            regime = embedder.regime
        except EmbedderAway:
            if settings.embedder != "auto" or (previous and previous.kind == kind):
                raise
            continue
        if (
            settings.embedder == "auto"
            and embedder.languages == frozenset({"en"})
            and not is_english()
        ):
            continue
        notices = regime_notices(regime, settings.model)
        return Choice(regime, embedder, embedder.sizing, notices=notices)
    return _keywords_only(settings)


def _keywords_only(settings: Settings) -> Choice:
    regime = Regime("none")
    return Choice(regime, None, SIZING, notices=regime_notices(regime, settings.model))


def choose_for_existing(settings: Settings, stored: Regime) -> Choice:
    """The store's own embedder, away or not.

    Raises:
        RegimeChanged: the settings ask for another one.
    """
    check_asked(stored, settings.embedder, settings.model)
    notices = regime_notices(stored, settings.model)
    embedder = make_embedder(stored.kind, settings)
    if embedder is None:
        return _keywords_only(settings)
    try:
        now = embedder.regime
    except EmbedderAway as error:
        return Choice(stored, None, embedder.sizing, str(error), notices)
    if now != stored:
        why = f"{now.label} is not what the store was built with; run ingest.py --rebuild"
        return Choice(stored, None, embedder.sizing, why, notices)
    return Choice(stored, embedder, embedder.sizing, notices=notices)
