"""What makes two stores' vectors comparable. Pure data, known without any embedder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Regime:
    """What makes vectors comparable: two stores of one regime could share them.

    `kind` is ollama, builtin or none; `digest` identifies the weights; `scheme` is the version of
    the prefixes and of the text that is put before a chunk.
    """

    kind: str
    model: str = ""
    digest: str = ""
    dimension: int = 0
    scheme: str = ""

    @property
    def id(self) -> str:
        """Sixteen hex digits that differ between regimes."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @property
    def label(self) -> str:
        """How a person reads it, such as `ollama/embeddinggemma`."""
        return f"{self.kind}/{self.model}" if self.model else self.kind

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Regime:
        """The regime that `dataclasses.asdict` wrote."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})
