"""What an ingest did, for a person, for `--json` and for the manifest. Pure data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from local_rag.snapshots import RootState
from local_rag.walk import Skipped

LISTED = 1000  # files listed in the manifest; the counts are always whole


@dataclass(frozen=True)
class Remark:
    """Something to know about one file: why it failed, or what was odd about it."""

    root: str
    path: str
    text: str


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
    left_out: int = 0
    embedder: str = ""
    published: str = ""
    dry_run: bool = False
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    roots: Sequence[RootState] = ()

    @property
    def exit_code(self) -> int:
        """0 when every document is indexed as it is on disk, 1 when some is not."""
        return 1 if self.failed or any(s.wanted for s in self.skipped) else 0

    def to_json(self) -> dict[str, Any]:
        """The whole report."""
        return asdict(self) | {"exit_code": self.exit_code}

    def lasting(self) -> dict[str, Any]:
        """What is true of the corpus rather than of this run: equal if nothing has changed."""
        return {
            "skipped": [asdict(s) for s in self.skipped if s.wanted][:LISTED],
            "skipped_by_reason": dict(sorted(Counter(s.reason for s in self.skipped).items())),
            "failed": [asdict(remark) for remark in self.failed[:LISTED]],
            "warnings": [asdict(remark) for remark in self.warnings[:LISTED]],
            "warned": len(self.warnings),
            "left_out": self.left_out,
        }
