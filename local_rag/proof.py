"""Which bytes of Chroma's database were last found whole by Chroma itself.

A file of the store, so that an ingest need not open Chroma only to see that nothing has happened to
it. Whoever opens the database changes it a little; then it is looked at anew. May be deleted.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from local_rag.seals import Seal

NAME = "proof.json"


class Proof:
    """The store's proof, if it has one."""

    def __init__(self, store: Path) -> None:
        self._path = store / NAME

    def covers(self, snapshot: str, database: Path) -> bool:
        """Whether the database of the snapshot of that name is what was found whole."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            seal = Seal(kept["size"], kept["crc"])
            return kept["snapshot"] == snapshot and Seal.of(database) == seal
        return False

    def keep(self, snapshot: str, database: Path) -> None:
        """Notes that it was found whole as it is now."""
        seal = Seal.of(database)
        text = json.dumps({"snapshot": snapshot, "size": seal.size, "crc": seal.crc})
        part = self._path.with_suffix(".part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                       encoding="utf-8") as file:  # fmt: skip
            file.write(text)
        part.replace(self._path)
