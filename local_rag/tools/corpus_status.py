"""`corpus_status`: what is indexed, how fresh it is, and the command that updates it.

A look at the corpus that is cut off after some seconds; comparing files is in `reading.freshness`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from local_rag.corpus.gitignore import ignores_beside
from local_rag.corpus.revision import git_revision
from local_rag.corpus.walk import WalkScope
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import RagError
from local_rag.index.live_index import OpenIndex
from local_rag.index.manifest import RootState
from local_rag.reading.find import display_name
from local_rag.reading.freshness import Drift, drift
from local_rag.settings import PROJECT_DIR, Settings
from local_rag.text.sanitize import one_line
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer import Result, notice_lines
from local_rag.tools.answer_size import ANSWER_BYTES, TITLE_BYTES
from local_rag.tools.arguments import Arguments
from local_rag.tools.tool import Sources, Tool

DESCRIPTION = """\
What is indexed and how fresh it is: roots with their git commits, files that are new, changed or
gone since, counts, the embedder and whether it responds, the age of the index, warnings of the last
ingest, and the command that updates it. Use it when answers look old or incomplete."""
LOOK_SECONDS = 4.0  # seconds for comparing files
GIT_SECONDS_EACH = 3.0  # seconds for asking git about one root
PING_SECONDS = 3.0  # seconds that the embedder has to answer
CUT_NOTICE = "Some warnings, files or roots are left out to fit this answer."
INDEX_VARIABLES = (
    "RAG_CONFIG",
    "RAG_CORPUS_DIR",
    "RAG_STORE_DIR",
)  # what decides which index is meant
LONGEST_SETTINGS = 400
MOST_LISTED = 8  # roots, files, warnings and reasons that are listed, of each


class RootStatus(BaseModel):
    """A corpus folder; `dirty` says whether files in it differ from the commit.

    It is absent where only the filters that the repository names could tell.
    """

    name: str
    path: str
    files: int
    chunks: int
    commit_at_ingest: str | None = None
    dirty_at_ingest: bool | None = None
    commit_now: str | None = None
    dirty_now: bool | None = None

    def markdown(self) -> str:
        """This as readable text."""
        then = f", at {self.commit_at_ingest}" if self.commit_at_ingest else ""
        then += " (dirty)" if self.dirty_at_ingest else ""
        now = f", now {self.commit_now}" if self.commit_now else ""
        now += " (dirty)" if self.dirty_now else ""
        return f"- {self.name}: {self.path}, {self.files} files, {self.chunks} chunks{then}{now}"


class CorpusChanges(BaseModel):
    """Documents that differ from the index, counted, and the first of them by name."""

    new: int
    changed: int
    gone: int
    examples: list[str]
    complete: bool

    def markdown(self) -> str:
        """This as readable text."""
        least = "" if self.complete else " at least (the check was cut off)"
        lines = [f"Since then: {self.new} new, {self.changed} changed, {self.gone} gone{least}"]
        unnamed = {"new": self.new, "changed": self.changed, "gone": self.gone}
        for example in self.examples:
            lines.append(f"- {example}")
            unnamed[example.partition(":")[0]] -= 1
        rest = ", ".join(f"{count} more {kind}" for kind, count in unnamed.items() if count)
        lines += [f"- and {rest}"] if self.examples and rest else []
        return "\n".join(lines)


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
    changes: CorpusChanges
    warnings: dict[str, int]
    first_warnings: list[str]
    skipped: dict[str, int]
    refresh_command: str

    def markdown(self) -> str:
        """This as readable text."""
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
            f"To update: {self.refresh_command}",
        ]
        return "\n".join(parts)


def _counted(label: str, counts: dict[str, int]) -> list[str]:
    listed = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return [f"{label}: {listed}"] if counts else []


def corpus_status(sources: Sources, arguments: Arguments) -> StatusResult:
    """The state of the open index against the corpus folders as they are now."""
    with sources.live.use() as index:
        return _status(index, sources.embedder, sources.settings)


def _status(index: OpenIndex, embedder: QueryEmbedder, settings: Settings) -> StatusResult:
    manifest, report = index.snapshot.manifest, index.snapshot.manifest.report
    ignores, _ = ignores_beside(settings.store_dir)
    scope = WalkScope(ignores, Path(os.path.realpath(settings.store_dir)))
    until = time.monotonic() + LOOK_SECONDS
    found = drift(index, settings.roots, scope, settings.max_file_bytes, until)
    warnings = [*report.failed, *report.warnings]
    result = StatusResult(
        files=manifest.files,
        chunks=manifest.chunks,
        superseded_chunks=manifest.superseded_chunks,
        pending_files=manifest.pending,
        snapshot=index.snapshot.path.name,
        built=manifest.created,
        age=age(manifest.created),
        embedder=manifest.identity.label,
        embedder_state=embedder_state(index, embedder),
        roots=[_root(root) for root in manifest.roots[:MOST_LISTED]],
        changes=_changes(found),
        warnings=_reasons(report.warned_by_reason),
        first_warnings=[
            shorten(one_line(f"{w.root}:{w.path}: {w.text}"), 200) for w in warnings[:MOST_LISTED]
        ],
        skipped=_reasons(report.skipped_by_reason),
        refresh_command=refresh_command(),
        notices=notice_lines(_notices(index, settings, found)),
    )
    _fit(result)
    return result


def _fit(result: StatusResult) -> None:
    """Drops listed names, the last first, until the rest fits an answer."""
    for listed in (result.first_warnings, result.changes.examples, result.roots):
        while listed and max(json_size(result.lean()), json_size(result.markdown())) > ANSWER_BYTES:
            listed.pop()
            result.notices = [n for n in result.notices if n != CUT_NOTICE] + [CUT_NOTICE]


def embedder_state(index: OpenIndex, embedder: QueryEmbedder) -> str:
    """Whether the embedder responds. It is asked for one vector on a thread, for a few seconds."""
    if not index.snapshot.manifest.identity.dimension:
        return "none: keyword search only"
    if index.damage:
        return shorten(one_line(index.damage), 200)
    said = [f"no response within {PING_SECONDS:g} seconds; it may be loading"]

    def ask() -> None:
        manifest = index.snapshot.manifest
        try:
            embedder.vector("status", manifest.identity, manifest.reference)
            said.append("responds")
        except RagError as error:
            said.append(shorten(one_line(str(error)), 200))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PING_SECONDS)
    return said[-1]


def refresh_command() -> str:
    """The command that runs an ingest with this Python and, in a shell, for this index.

    What says so in more than `LONGEST` characters is left to the one who set it.
    """
    command = [sys.executable, str(PROJECT_DIR / "ingest.py")]
    if os.name == "nt":
        return subprocess.list2cmdline(command)
    places = (name for name in INDEX_VARIABLES if os.environ.get(name))
    settings = " ".join(f"{name}={shlex.quote(os.environ[name])}" for name in places)
    words = [settings] if settings and len(settings) <= LONGEST_SETTINGS else []
    return " ".join([*words, shlex.join(command)])


def age(created: str) -> str:
    """How long ago something was, in words."""
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    except (ValueError, TypeError):
        return "an unknown time"
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0, seconds):.0f} seconds"


def _root(root: RootState) -> RootStatus:
    commit, dirty = git_revision(Path(root.path), GIT_SECONDS_EACH)
    return RootStatus(
        name=root.name,
        path=shorten(one_line(root.path), 300),
        files=root.files,
        chunks=root.chunks,
        commit_at_ingest=root.commit or None,
        dirty_at_ingest=root.dirty if root.commit else None,
        commit_now=commit or None,
        dirty_now=dirty if commit else None,
    )


def _changes(found: Drift) -> CorpusChanges:
    kinds = {"new": found.new, "changed": found.changed, "gone": found.gone}
    examples = [
        f"{kind}: {shorten(display_name(name), 200)}"
        for kind, names in kinds.items()
        for name in names[: MOST_LISTED // 2]
    ]
    counts = {kind: len(names) for kind, names in kinds.items()}
    return CorpusChanges(**counts, examples=examples[:MOST_LISTED], complete=not found.cut)


def _reasons(counts: Mapping[str, int]) -> dict[str, int]:
    return {shorten(one_line(why), TITLE_BYTES): n for why, n in list(counts.items())[:MOST_LISTED]}


def _notices(index: OpenIndex, settings: Settings, found: Drift) -> list[str]:
    notices = list(index.first_notices)
    configured = {root.path for root in settings.roots}
    states = index.snapshot.manifest.roots
    if len(states) > MOST_LISTED:
        notices.append(f"{len(states) - MOST_LISTED} more roots are not listed.")
    notices += [
        f"{root.path} is no longer configured; the next ingest removes its documents."
        for root in states[:MOST_LISTED]
        if configured and Path(root.path) not in configured
    ]
    if found.unreadable:
        notices.append(f"These roots cannot be read now: {', '.join(found.unreadable)}.")
    if found.cut:
        notices.append(f"The check of files was cut off after {LOOK_SECONDS:g} seconds.")
    return notices


TOOL = Tool("corpus_status", DESCRIPTION, Arguments, StatusResult, corpus_status)
