"""The closing report's counts as a table for a terminal. Leaves out the rest of it (`summary`)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from local_rag.display import one_line
from local_rag.report import Report


def print_table(report: Report) -> None:
    """Prints the table to stderr."""
    Console(stderr=True).print(table(report))


def table(report: Report) -> Table:
    """The counts as a table for a terminal."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column("files", justify="right")
    shown.add_column("what became of them")
    shown.add_column("why")
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
