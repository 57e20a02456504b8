"""The progress of an ingest, on stderr: a bar on a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

MANY_FILES = 10  # with fewer files, plain lines are not worth printing


class ProgressDisplay:
    """Shows progress to a person, or writes it to a log."""

    def __init__(self) -> None:
        self._bar = _bar() if sys.stderr.isatty() else None
        self._files = self._done = self._tenths = 0
        self._since = time.monotonic()

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def notice(self, text: str) -> None:
        """Prints a line that must be seen before the work starts."""
        print(f"notice: {text}", file=sys.stderr)

    def start(self, files: int) -> None:
        """Shows the number of files; the remaining time is estimated from it."""
        self._files, self._since = files, time.monotonic()
        if self._bar and files:
            self._bar.start()
            self._task = self._bar.add_task("", total=files, rate="")

    def advance(self, embedded: int) -> None:
        """Counts a file."""
        self._done += 1
        if self._bar:
            elapsed = time.monotonic() - self._since
            rate = f"{embedded / elapsed:.1f} chunks/s" if elapsed > 1 else ""
            self._bar.update(self._task, advance=1, rate=rate)
            return
        tenths = 10 * self._done // self._files
        if tenths > self._tenths and self._files >= MANY_FILES:
            self._tenths = tenths
            print(f"indexed {self._done} of {self._files} files", file=sys.stderr)


def _bar() -> Progress:
    from rich.console import Console  # a scheduled run shows no bar and needs no rich
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
        console=Console(stderr=True, soft_wrap=True), transient=True,
    )  # fmt: skip
