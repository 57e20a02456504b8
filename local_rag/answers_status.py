"""The result of `corpus_status`."""

from __future__ import annotations

from pydantic import BaseModel

from local_rag.answers import Result


class RootStatus(BaseModel):
    """A corpus folder; `dirty` says that files in it differ from the commit."""

    name: str
    path: str
    files: int
    chunks: int
    commit_at_ingest: str | None = None
    dirty_at_ingest: bool | None = None
    commit_now: str | None = None
    dirty_now: bool | None = None

    def markdown(self) -> str:
        """The same for a reader."""
        then = f", at {self.commit_at_ingest}" if self.commit_at_ingest else ""
        then += " (dirty)" if self.dirty_at_ingest else ""
        now = f", now {self.commit_now}" if self.commit_now else ""
        now += " (dirty)" if self.dirty_now else ""
        return f"- {self.name}: {self.path}, {self.files} files, {self.chunks} chunks{then}{now}"


class Changes(BaseModel):
    """Documents that differ from the index, counted, and the first of them by name."""

    new: int
    changed: int
    gone: int
    examples: list[str]
    complete: bool

    def markdown(self) -> str:
        """The same for a reader."""
        least = "" if self.complete else " at least, as the check was cut"
        lines = [f"Since then: {self.new} new, {self.changed} changed, {self.gone} gone{least}"]
        return "\n".join([*lines, *(f"- {name}" for name in self.examples), *self._unnamed()])

    def _unnamed(self) -> list[str]:
        """How many of each kind are counted and not among the examples."""
        kinds = {"new": self.new, "changed": self.changed, "gone": self.gone}
        for example in self.examples:
            kinds[example.partition(":")[0]] -= 1
        rest = ", ".join(f"{count} more {kind}" for kind, count in kinds.items() if count)
        return [f"- and {rest}"] if self.examples and rest else []


class StatusResult(Result):
    """What is indexed, how fresh it is, and what to do about it."""

    files: int
    chunks: int
    superseded_chunks: int
    pending_files: int
    snapshot: str
    built: str
    age: str
    embedder: str
    embedder_state: str
    roots: list[RootStatus]
    changes: Changes
    warnings: dict[str, int]
    first_warnings: list[str]
    skipped: dict[str, int]
    refresh_command: str

    def markdown(self) -> str:
        """The same for a reader."""
        counts = f"{self.files} files, {self.chunks} chunks ({self.superseded_chunks} superseded)"
        counts += f", {self.pending_files} files pending" if self.pending_files else ""
        parts = [
            *self.noticed(),
            f"{counts}; index {self.snapshot}, built {self.built} ({self.age} ago)",
            f"Embedder {self.embedder}: {self.embedder_state}",
            *(root.markdown() for root in self.roots),
            self.changes.markdown(),
            *_counted("Warnings", self.warnings),
            *(f"- {text}" for text in self.first_warnings),
            *_counted("Not indexed", self.skipped),
            f"To bring it up to date: {self.refresh_command}",
        ]
        return "\n".join(parts)


def _counted(label: str, counts: dict[str, int]) -> list[str]:
    listed = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return [f"{label}: {listed}"] if counts else []
