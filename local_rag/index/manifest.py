"""What a snapshot says of itself and of its corpus, in the `manifest.json` beside its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from local_rag.corpus.skipped import SkippedFile
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.errors import IndexTooNew
from local_rag.index.checksums import Checksum, checksums_from_json

FORMAT_VERSION = 4  # of a snapshot's files, as ingest writes them
OLDEST_READ = 3  # what a reader still opens; it had no aliases and no tables of contents
# Programs of format 4 that know no kinds refuse an entry of `set_aside` with any other key, and a
# server that has been running since before an update is one. So kinds are kept beside it.
SET_ASIDE_KEYS = ("root", "path", "reason", "wanted", "secret", "sha256")
STORED_NAMES = {"identity": "regime", "checksums": "seals"}


@dataclass(frozen=True)
class RootState:
    """A root as the snapshot saw it; `commit` is empty outside git.

    `dirty` says whether its files differ from the commit, and is None where that is unknown.
    """

    name: str
    path: str
    commit: str = ""
    dirty: bool | None = False
    files: int = 0
    chunks: int = 0


@dataclass(frozen=True)
class Counts:
    """What a snapshot holds. `slots` are HNSW rows, of which deleted ones stay."""

    files: int
    chunks: int
    superseded_chunks: int
    slots: int
    by_root: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Remark:
    """Something to know about one file: why it failed, or what was odd about it."""

    root: str
    path: str
    text: str


@dataclass(frozen=True)
class IngestReport:
    """What an ingest found out about the corpus: equal for two runs if nothing has changed.

    `skipped`, `failed` and `warnings` name the first files only; the counts are complete.
    `set_aside` names all files whose bytes are the reason why they are not indexed.
    """

    skipped: Sequence[SkippedFile] = ()
    skipped_by_reason: Mapping[str, int] = field(default_factory=dict)
    set_aside: Sequence[SkippedFile] = ()
    failed: Sequence[Remark] = ()
    warnings: Sequence[Remark] = ()
    warned: int = 0
    warned_by_reason: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> IngestReport:
        """What `to_json` wrote, now or in an earlier version."""
        stored: list[dict[str, Any]] = values.get("set_aside", [])
        kinds: list[dict[str, Any]] = values.get("set_aside_kinds", [{}] * len(stored))
        set_aside = (file | kind for file, kind in zip(stored, kinds, strict=True))
        return cls(
            tuple(map(SkippedFile.from_json, values.get("skipped", ()))),
            values.get("skipped_by_reason", {}),
            tuple(map(SkippedFile.from_json, set_aside)),
            tuple(Remark(**remark) for remark in values.get("failed", ())),
            tuple(Remark(**remark) for remark in values.get("warnings", ())),
            values.get("warned", 0),
            values.get("warned_by_reason", {}),
        )

    def to_json(self) -> dict[str, Any]:
        """As the manifest keeps it."""
        return {
            "skipped": [skipped.to_json() for skipped in self.skipped],
            "skipped_by_reason": dict(self.skipped_by_reason),
            "set_aside": [_only(skipped, SET_ASIDE_KEYS) for skipped in self.set_aside],
            "set_aside_kinds": [_only(skipped, ("kind", "detail")) for skipped in self.set_aside],
            "failed": [asdict(remark) for remark in self.failed],
            "warnings": [asdict(remark) for remark in self.warnings],
            "warned": self.warned,
            "warned_by_reason": dict(self.warned_by_reason),
        }


def _only(skipped: SkippedFile, keys: Sequence[str]) -> dict[str, Any]:
    values = skipped.to_json()
    return {key: values[key] for key in keys}


@dataclass(frozen=True)
class Manifest:
    """What a snapshot says of itself. `pending` counts files that still wait for an embedding."""

    identity: EmbedderIdentity
    recipe: str
    roots: tuple[RootState, ...]
    files: int
    chunks: int
    superseded_chunks: int
    slots: int
    pending: int
    reference: tuple[float, ...] = ()
    report: IngestReport = field(default_factory=IngestReport)
    checksums: dict[str, Checksum] = field(default_factory=dict)
    format: int = FORMAT_VERSION
    created: str = ""

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Reads what `to_json` wrote. Raises ValueError, KeyError or TypeError on other text.

        Raises:
            IndexTooNew: a newer program wrote it.
        """
        values = json.loads(text)
        if values["format"] > FORMAT_VERSION:
            what = "A newer version of this program wrote the index."
            raise IndexTooNew(what, "Update this program.")
        if values["format"] < OLDEST_READ:
            raise ValueError("an older version of this program wrote it")
        values["identity"] = EmbedderIdentity.from_json(values.pop("regime"))
        values["roots"] = tuple(RootState(**root) for root in values["roots"])
        values["checksums"] = checksums_from_json(values.pop("seals"))
        values["reference"] = tuple(values["reference"])
        values["report"] = IngestReport.from_json(values["report"])
        return cls(**values)

    @property
    def counts(self) -> Counts:
        """What the snapshot holds."""
        by_root = {root.name: (root.files, root.chunks) for root in self.roots}
        return Counts(self.files, self.chunks, self.superseded_chunks, self.slots, by_root)

    def to_json(self) -> str:
        """One JSON object, with the names that format 4 has for its parts."""
        parts = asdict(replace(self, report=IngestReport())) | {"report": self.report.to_json()}
        values = {STORED_NAMES.get(name, name): value for name, value in parts.items()}
        return json.dumps(values, ensure_ascii=False, indent=1)


SetAside = Mapping[tuple[str, str, str], SkippedFile]
"""By root, path and SHA-256, the files whose bytes are the reason why they are not indexed."""

NONE_SET_ASIDE: SetAside = MappingProxyType({})


def set_aside(report: IngestReport) -> SetAside:
    """The files that an earlier run left out because of their bytes."""
    return {(s.root, s.path, s.sha256): s for s in report.set_aside}
