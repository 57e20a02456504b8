"""A file that is not indexed: its kind decides what follows, its reason is for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class SkipKind(StrEnum):
    """Why a file is not indexed, as far as anything depends on it."""

    LEFT_OUT = "left out"
    """By choice or by kind: an ignore file, `rag: false`, a format that holds no documents."""

    SECRET = "secret"  # noqa: S105
    """Made to hold secrets, or found to hold some."""

    UNREADABLE = "unreadable"
    """Could not be read this time. What is indexed of it stays."""

    UNDECIDED = "undecided"
    """It could not be determined what should be left out, such as by a broken ignore file."""

    FAILED = "failed"
    """A document whose text could not be extracted."""

    NO_TEXT = "no text"
    """A document without any text, such as a scan."""


WHOLE_ROOT = "./"  # the path of a root that is left out altogether
NEEDS_A_PERSON = frozenset({SkipKind.UNREADABLE, SkipKind.UNDECIDED, SkipKind.FAILED})
WANTED = NEEDS_A_PERSON | {SkipKind.NO_TEXT}


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not indexed, or a whole folder if its path ends with `/`.

    `reason` is the same for all files of a group; `detail` is about this one. `sha256` is the
    hash of its bytes if they are the reason.
    """

    root: str
    path: str
    kind: SkipKind
    reason: str
    detail: str = ""
    sha256: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """Reason and detail."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason

    @property
    def wanted(self) -> bool:
        """Whether it should have been indexed."""
        return self.kind in WANTED

    @property
    def secret(self) -> bool:
        """Whether it was left out because it holds secrets."""
        return self.kind is SkipKind.SECRET

    def to_json(self) -> dict[str, Any]:
        """As it is kept in a manifest and printed by `--json`."""
        return {
            "root": self.root,
            "path": self.path,
            "reason": self.text,
            "wanted": self.wanted,
            "secret": self.secret,
            "sha256": self.sha256,
            "kind": self.kind.value,
            "detail": self.detail,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SkippedFile:
        """What `to_json` wrote, or an earlier version that knew no kinds."""
        kind = SkipKind(values["kind"]) if "kind" in values else _kind_of_old(values)
        detail, sha256 = values.get("detail", ""), values.get("sha256", "")
        reason = values["reason"].removesuffix(f": {detail}")
        return cls(values["root"], values["path"], kind, reason, detail, sha256)


def _kind_of_old(values: Mapping[str, Any]) -> SkipKind:
    if values.get("secret"):
        return SkipKind.SECRET
    if not values["wanted"]:
        return SkipKind.LEFT_OUT
    return SkipKind.NO_TEXT if values["reason"].startswith("holds no text") else SkipKind.FAILED
