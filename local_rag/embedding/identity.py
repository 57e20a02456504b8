"""What makes vectors comparable: which embedder, weights and prefixes. Pure data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from local_rag.errors import EmbedderChanged

UPGRADE = "ollama pull {model}, then ingest.py --rebuild"
KEYWORDS_ONLY = "Keyword search only, no search by meaning; to add it: {upgrade}."
BUILTIN = (
    "Built-in embedder (small, English): less exact than EmbeddingGemma; to upgrade: {upgrade}."
)


@dataclass(frozen=True)
class EmbedderIdentity:
    """What makes vectors comparable: two indexes of one identity could share them.

    `kind` is ollama, builtin or none; `digest` identifies the weights; `scheme` is the version of
    the prefixes and of the title slot.
    """

    kind: str
    model: str = ""
    digest: str = ""
    dimension: int = 0
    scheme: str = ""

    @property
    def id(self) -> str:
        """Sixteen hex digits that differ between identities."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @property
    def label(self) -> str:
        """The identity for people, such as `ollama/embeddinggemma`."""
        return f"{self.kind}/{self.model}" if self.model else self.kind

    def matches(self, other: EmbedderIdentity) -> bool:
        """Whether vectors of the two can be compared: Ollama may have one model by two names."""
        if self.kind == "ollama" and self.digest:
            return replace(self, model=other.model) == other
        return replace(self, model=plain_name(self.model)) == replace(
            other, model=plain_name(other.model)
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> EmbedderIdentity:
        """The identity that `dataclasses.asdict` wrote."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


def identity_notices(identity: EmbedderIdentity, model: str) -> tuple[str, ...]:
    """What an index of this identity lacks and how to upgrade it; empty for Ollama."""
    texts = {"none": KEYWORDS_ONLY, "builtin": BUILTIN}
    upgrade = UPGRADE.format(model=model)
    return (texts[identity.kind].format(upgrade=upgrade),) if identity.kind in texts else ()


def plain_name(model: str) -> str:
    """A model's name without the tag that Ollama adds itself."""
    return model.removesuffix(":latest")


def check_asked(
    stored: EmbedderIdentity, asked: str, model: str, weights: Callable[[], str]
) -> None:
    """Refuses settings that ask for another embedder than the index was built with.

    `weights` gives the digest of the model that is asked for; it is called if the name differs.

    Raises:
        EmbedderChanged: they do.
    """
    kind = stored.kind if asked == "auto" else asked
    renamed = stored.kind == "ollama" and plain_name(model) != plain_name(stored.model)
    if kind != stored.kind or (renamed and (weights() or None) != stored.digest):
        wanted = f"{kind}/{model}" if kind == "ollama" else kind
        what = f"The index was built with {stored.label}, the settings ask for {wanted}."
        raise EmbedderChanged(what, "Run ingest.py --rebuild to change it.")
