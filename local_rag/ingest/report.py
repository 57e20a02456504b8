"""What an ingest did, for a person, for `--json` and for the manifest. Pure data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from local_rag.corpus.walk import SkippedFile
from local_rag.index.manifest import RootState
from local_rag.ingest.plan import Plan

QUOTED = r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"  # a value, as repr shows it
LISTED = 1000  # files listed in the manifest; the counts are always whole


@dataclass(frozen=True)
class Remark:
    """Something to know about one file: why it failed, or what was odd about it."""

    root: str
    path: str
    text: str


def reason_of(text: str) -> str:
    """What a remark has in common with others of its kind: no details, line numbers or values."""
    unquoted = re.sub(QUOTED, "", re.sub(r"^(?:line )?\d+ ", "", text))
    return " ".join(re.split(r"[:(]", unquoted, maxsplit=1)[0].split())


def count_reasons(texts: Iterable[str]) -> dict[str, int]:
    """How many texts there are of each kind, the most frequent first."""
    return dict(Counter(map(reason_of, texts)).most_common())


@dataclass
class Report:
    """One run. Counts are of files, `embedded` of chunks that the embedder was asked for."""

    new: int = 0
    changed: int = 0
    renamed: int = 0
    deleted: int = 0
    unchanged: int = 0
    embedded: int = 0
    files: int = 0
    chunks: int = 0
    embedder: str = ""
    published: str = ""
    dry_run: bool = False
    skipped: list[SkippedFile] = field(default_factory=list)
    failed: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    roots: Sequence[RootState] = ()

    @property
    def exit_code(self) -> int:
        """0 when every document is indexed as it is on disk, 1 when some is not."""
        return 1 if self.failed or any(s.wanted for s in self.skipped) else 0

    @property
    def indexed(self) -> int:
        """Files that were indexed in this run."""
        return self.new + self.changed + self.renamed

    @property
    def left_out_by_reason(self) -> dict[str, int]:
        """Files, and folders as one each, that are no documents on purpose."""
        return count_reasons(s.reason for s in self.skipped if not s.wanted)

    @property
    def skipped_by_reason(self) -> dict[str, int]:
        """Documents that could not be indexed."""
        return count_reasons(s.reason for s in self.skipped if s.wanted)

    @property
    def warned_by_reason(self) -> dict[str, int]:
        """What was odd about documents that are indexed."""
        return count_reasons(remark.text for remark in self.warnings)

    def note(self, plan: Plan) -> None:
        """Counts what stays as it is, with what was odd about it when it was indexed."""
        self.skipped += plan.skipped
        self.unchanged = len(plan.unchanged)
        for entry in plan.unchanged + plan.held:
            if entry.remarks != "[]":
                self.warnings += [Remark(entry.root, entry.path, w) for w in entry.warnings]

    def to_json(self) -> dict[str, Any]:
        """The whole report, with its counts by reason."""
        return asdict(self) | {
            "indexed": self.indexed,
            "skipped_by_reason": self.skipped_by_reason,
            "left_out_by_reason": self.left_out_by_reason,
            "warned_by_reason": self.warned_by_reason,
            "exit_code": self.exit_code,
        }

    def lasting(self) -> dict[str, Any]:
        """What is true of the corpus rather than of this run: equal if nothing has changed."""
        return {
            "skipped": [asdict(s) for s in self.skipped if s.wanted or s.secret][:LISTED],
            "skipped_by_reason": count_reasons(s.reason for s in self.skipped),
            "set_aside": [asdict(s) for s in self.skipped if s.sha256],
            "failed": [asdict(remark) for remark in self.failed[:LISTED]],
            "warnings": [asdict(remark) for remark in self.warnings[:LISTED]],
            "warned": len(self.warnings),
            "warned_by_reason": self.warned_by_reason,
        }


class Progress(Protocol):
    """What a run tells while it lasts."""

    def start(self, files: int, size: int) -> None:
        """There are `files` to index, `size` bytes in all."""

    def advance(self, path: str, size: int, embedded: int) -> None:
        """A file is done; `embedded` chunks were embedded so far."""


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `repair` is a rebuild with the store's own embedder."""

    rebuild: bool = False
    repair: bool = False
    dry_run: bool = False
    allow_empty: bool = False

    @property
    def anew(self) -> bool:
        """Whether to start from nothing instead of the live snapshot."""
        return self.rebuild or self.repair
