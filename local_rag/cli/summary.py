"""The closing report of an ingest in words: problems by name, counts by reason, the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.ingest.report import Report
from local_rag.text.sanitize import one_line

if TYPE_CHECKING:
    from rich.table import Table

MOST_NAMED = 10  # files named for each kind of problem; --verbose names all


def summary(report: Report, *, verbose: bool = False, counts: bool = True) -> Iterator[str]:
    """The report as lines for a person, without the outcome; `counts` adds counts by reason."""
    limit = None if verbose else MOST_NAMED
    skipped = [(s.root, s.path, s.text) for s in report.skipped if s.wanted]
    secrets = [(s.root, s.path, s.text) for s in report.skipped if s.secret]
    yield from _listed("failed", [(r.root, r.path, r.text) for r in report.failed], limit)
    yield from _listed("skipped", skipped, limit)
    yield from _listed("secret", secrets, limit)
    yield from _listed("warning", [(r.root, r.path, r.text) for r in report.warnings], limit)
    if counts:
        yield from _counted("skipped in total", report.skipped_by_reason)
        yield from _counted("left out", report.left_out_by_reason)
        yield from _counted("warned in total", report.warned_by_reason)
    yield from (f"notice: {notice}" for notice in report.notices)


def _listed(label: str, items: list[tuple[str, str, str]], limit: int | None) -> Iterator[str]:
    for root, path, text in items[:limit]:
        yield f"{label}: {root}:{one_line(path)}: {one_line(text)}"
    if limit is not None and len(items) > limit:
        yield f"{label}: and {len(items) - limit} more (--verbose names all)"


def _counted(label: str, counts: dict[str, int]) -> Iterator[str]:
    if counts:
        yield f"{label}: " + ", ".join(f"{count} {reason}" for reason, count in counts.items())


def outcome(report: Report) -> str:
    """The outcome of the run in one line."""
    changes = ", ".join(
        f"{getattr(report, kind)} {kind}"
        for kind in ("new", "changed", "renamed", "deleted", "unchanged")
    )
    embedded = f"{report.embedded} chunks {'to embed' if report.dry_run else 'embedded'}"
    if report.dry_run:
        return f"dry run: {changes}; {embedded} with {report.embedder}"
    commits = "".join(
        f"; {root.name} at {root.commit[:10]}{' (dirty)' if root.dirty else ''}"
        for root in report.roots
        if root.commit
    )
    state = f"published {report.published}" if report.published else "nothing to publish"
    return (
        f"{state}: {report.files} files, {report.chunks} chunks ({changes}; {embedded} with "
        f"{report.embedder}){commits}"
    )


def print_table(report: Report) -> None:
    """Prints the table to stderr."""
    from rich.console import Console  # a scheduled run needs no rich

    Console(stderr=True).print(table(report))


def table(report: Report) -> Table:
    """The counts as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False)
    shown.add_column("files", justify="right")
    shown.add_column("outcome")
    shown.add_column("reason")
    rows = [("indexed", "", report.indexed), ("unchanged", "", report.unchanged),
            ("deleted", "", report.deleted), ("failed", "", len(report.failed))]  # fmt: skip
    for name, counts in (
        ("skipped", report.skipped_by_reason),
        ("left out", report.left_out_by_reason),
        ("warned", report.warned_by_reason),
    ):
        rows += [(name, reason, count) for reason, count in counts.items()]
    for name, reason, count in rows:
        if count:
            shown.add_row(str(count), name, Text(one_line(reason)))
    for root in report.roots if len(report.roots) > 1 else ():
        shown.add_row(str(root.files), "in the index", Text(f"root {one_line(root.name)}"))
    return shown
