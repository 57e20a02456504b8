"""When a match is weak: thresholds, measured for a corpus and embedder or defaults.

`tools/calibrate.py` measures them and stores them beside the index, for its embedder's identity.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from local_rag.embedding.identity import EmbedderIdentity

FILE = "calibration.json"


@dataclass(frozen=True)
class Thresholds:
    """A hit below both is weak: `cosine` for meaning, `coverage` for the query's words."""

    cosine: float
    coverage: float

    def is_weak(self, cosine: float | None, coverage: float) -> bool:
        """Whether neither arm supports the hit; `cosine` is None if unknown."""
        return coverage < self.coverage and (cosine is None or cosine < self.cosine)


# Between the best hits of unanswerable questions and the right hits of labelled ones, on the sets
# named in docs/measurements.md.
DEFAULTS = {
    "ollama": Thresholds(cosine=0.36, coverage=0.65),
    "builtin": Thresholds(cosine=0.36, coverage=0.75),
    "none": Thresholds(cosine=1.0, coverage=0.6),
}


def thresholds_for(store: Path, identity: EmbedderIdentity) -> Thresholds:
    """The thresholds measured for this identity in this store, else the default for its kind.

    A file that cannot be read counts as none: thresholds only grade an answer.
    """
    try:
        kept = json.loads((store / FILE).read_text(encoding="utf-8"))
        if kept["regime"] == identity.id:
            return Thresholds(float(kept["cosine"]), float(kept["coverage"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return DEFAULTS[identity.kind]
