"""What an ingest is asked for, what it tells while it runs, and what it did. Pure data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from local_rag.corpus.scan import FileVersion
from local_rag.corpus.skipped import NEEDS_A_PERSON, SkippedFile
from local_rag.index.manifest import IngestReport, Remark, RootState
from local_rag.ingest.plan import Change, Plan

if TYPE_CHECKING:  # a run that finds nothing to do imports no parser
    from local_rag.documents.document import Document
    from local_rag.documents.metadata import JsonValue

QUOTED = r"(?<!\w)(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"  # a value, as repr shows it
LISTED = 1000  # files listed in the manifest; the counts are always complete


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


class Progress(Protocol):
    """What a run tells while it lasts."""

    def notice(self, text: str) -> None:
        """Says something that the person should know before the work starts."""

    def start(self, files: int) -> None:
        """There are `files` to index."""

    def advance(self, embedded: int) -> None:
        """A file is done; `embedded` chunks were embedded so far."""


@dataclass
class Report:
    """One run. Counts are of files, `embedded` of chunks that the embedder was asked for.

    `undecided` names what could not be hidden or shown with certainty. `vectors_unusable` says
    why the vectors of the index cannot be searched now.
    """

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
    undecided: list[str] = field(default_factory=list)
    vectors_unusable: str = ""
    notices: list[str] = field(default_factory=list)
    roots: Sequence[RootState] = ()

    @property
    def exit_code(self) -> int:
        """0 if every document that should be in the index is in it, 1 if a person must look."""
        needs_a_person = (
            self.failed
            or self.undecided
            or self.vectors_unusable
            or any(skipped.kind in NEEDS_A_PERSON for skipped in self.skipped)
        )
        return 1 if needs_a_person else 0

    @property
    def indexed(self) -> int:
        """Files that were indexed in this run."""
        return self.new + self.changed + self.renamed

    @property
    def left_out_by_reason(self) -> dict[str, int]:
        """Files, and folders as one each, that are not indexed on purpose."""
        return _counted(s.reason for s in self.skipped if not s.wanted)

    @property
    def skipped_by_reason(self) -> dict[str, int]:
        """Documents that could not be indexed."""
        return _counted(s.reason for s in self.skipped if s.wanted)

    @property
    def warned_by_reason(self) -> dict[str, int]:
        """What was odd about documents that are indexed."""
        return _counted(reason_of(remark.text) for remark in self.warnings)

    def note(self, plan: Plan) -> None:
        """Counts what stays as it is, with what was odd about it when it was indexed."""
        self.skipped += plan.skipped
        self.unchanged = len(plan.unchanged)
        for entry in plan.unchanged + plan.held:
            if entry.remarks != "[]":
                self.warnings += [Remark(entry.root, entry.path, w) for w in entry.warnings]
                if _is_undecided(json.loads(entry.keys)):
                    self.undecided.append(f"{entry.root}:{entry.path}")

    def note_document(self, version: FileVersion, document: Document) -> None:
        """Keeps what is odd about a document that was read in this run."""
        self.warnings += [Remark(version.root, version.path, text) for text in document.warnings]
        if document.warnings and _is_undecided(document.metadata):
            self.undecided.append(f"{version.root}:{version.path}")

    def count(self, change: Change) -> None:
        """Counts a file that was indexed, or would be."""
        setattr(self, change, getattr(self, change) + 1)

    def to_json(self) -> dict[str, Any]:
        """The whole report, with its counts by reason."""
        return asdict(self) | {
            "skipped": [skipped.to_json() for skipped in self.skipped],
            "indexed": self.indexed,
            "skipped_by_reason": self.skipped_by_reason,
            "left_out_by_reason": self.left_out_by_reason,
            "warned_by_reason": self.warned_by_reason,
            "exit_code": self.exit_code,
        }

    def lasting(self) -> IngestReport:
        """What is true of the corpus rather than of this run."""
        return IngestReport(
            tuple(s for s in self.skipped if s.wanted or s.secret)[:LISTED],
            _counted(s.reason for s in self.skipped),
            tuple(s for s in self.skipped if s.sha256),
            tuple(self.failed[:LISTED]),
            tuple(self.warnings[:LISTED]),
            len(self.warnings),
            self.warned_by_reason,
        )


def reason_of(warning: str) -> str:
    """What a warning has in common with others of its kind: no details, line numbers or values.

    The catalog keeps a document's warnings as text only.
    """
    unquoted = re.sub(QUOTED, "", re.sub(r"^(?:line )?\d+ ", "", warning))
    return " ".join(re.split(r"[:(]", unquoted, maxsplit=1)[0].split())


def _counted(reasons: Iterable[str]) -> dict[str, int]:
    """How many there are of each, the most frequent first."""
    return dict(Counter(reasons).most_common())


def _is_undecided(metadata: Mapping[str, JsonValue]) -> bool:
    if not {"rag", "lifecycle"} & {key.strip().lower() for key in metadata}:
        return False
    from local_rag.documents.document import hiding_is_undecided  # imports all parsers

    return hiding_is_undecided(metadata)
