"""The command line of `ingest.py`: arguments, progress, the closing report, the exit code.

Leaves out the work itself (`pipeline`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from local_rag.display import one_line
from local_rag.errors import RagError
from local_rag.pipeline import Options, run_ingest
from local_rag.report import Report
from local_rag.settings import load_settings, unknown_variables

NAMED = 10  # files named for each kind of trouble; --verbose names all
EPILOG = "exit codes: 0 all indexed; 1 finished, some files skipped or failed; 2 nothing done"


class ShownProgress:
    """A bar on a terminal, a plain line now and then elsewhere. Always on stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TextColumn("files"),
            TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
            console=console, disable=not console.is_terminal, transient=True,
        )  # fmt: skip
        self._files = self._done = self._tenths = 0

    def __enter__(self) -> ShownProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def start(self, files: int, size: int) -> None:
        """Shows how many files there are; time is estimated by their size."""
        self._files = files
        if files:
            self._task = self._bar.add_task("", total=files, rate="")

    def advance(self, path: str, size: int, embedded: int) -> None:
        """Counts a file."""
        self._done += 1
        speed = self._bar.tasks[0].elapsed or 0
        rate = f"{embedded / speed:.1f} chunks/s" if speed > 1 else ""
        self._bar.update(self._task, advance=1, rate=rate)
        tenths = 10 * self._done // self._files
        if not self._console.is_terminal and tenths > self._tenths and self._files >= NAMED:
            self._tenths = tenths
            self._console.print(f"indexed {self._done} of {self._files} files", highlight=False)


def ingest(arguments: Sequence[str]) -> int:
    """Runs one ingest and answers its exit code."""
    os.umask(0o077)  # the store holds people's documents: nobody else may read it
    options = _parse(arguments)
    console = Console(stderr=True, soft_wrap=True)
    logging.basicConfig(level=logging.ERROR)
    if options.verbose:  # our own alone: a Markdown parser logs every rule it tries
        logging.getLogger("local_rag").setLevel(logging.DEBUG)
    try:
        settings = load_settings()
        for name in unknown_variables():
            console.print(Text(f"warning: {name} is no setting"))
        with ShownProgress(console) as progress:
            report = run_ingest(
                settings,
                Options(options.rebuild, options.dry_run, options.allow_empty),
                progress,
            )
    except RagError as error:
        return _failed(str(error), options.json, console)
    except KeyboardInterrupt:
        return _failed("Stopped. What is embedded is kept; run it again.", options.json, console)
    except Exception as error:  # the outermost edge: a scheduler reads exit code and last line
        logging.getLogger(__name__).exception("ingest failed")
        return _failed(
            f"Unexpected failure: {error!r}. Nothing was published.", options.json, console
        )
    if options.json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in summary(report, verbose=options.verbose):
            console.print(Text(line))
    return report.exit_code


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("ingest.py", description=__doc__, epilog=EPILOG)
    parser.add_argument("--rebuild", action="store_true", help="build the index anew, perhaps with "
                        "another embedder; readers keep the old one until it is done")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    parser.add_argument("--allow-empty", action="store_true", help="let a folder that has become "
                        "empty remove its documents from the index")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    parser.add_argument("--verbose", action="store_true", help="name every file, log more")
    return parser.parse_args(arguments)


def _failed(message: str, as_json: bool, console: Console) -> int:
    if as_json:
        print(json.dumps({"error": message, "exit_code": 2}, ensure_ascii=False))
    console.print(Text(f"error: {message}"))
    return 2


def summary(report: Report, *, verbose: bool = False) -> Iterator[str]:
    """The report as lines for a person: troubles first, the outcome last."""
    limit = None if verbose else NAMED
    yield from _listed("failed", [(r.root, r.path, r.text) for r in report.failed], limit)
    wanted = [(s.root, s.path, s.reason) for s in report.skipped if s.wanted]
    yield from _listed("skipped", wanted, limit)
    yield from _listed("warning", [(r.root, r.path, r.text) for r in report.warnings], limit)
    left = Counter(s.reason for s in report.skipped if not s.wanted)
    if report.left_out:
        left["rag: false"] = report.left_out
    if left:
        yield "left out: " + ", ".join(f"{n} {reason}" for reason, n in left.most_common())
    yield from (f"notice: {notice}" for notice in report.notices)
    yield _outcome(report)


def _listed(label: str, items: list[tuple[str, str, str]], limit: int | None) -> Iterator[str]:
    for root, path, text in items[:limit]:
        yield f"{label}: {root}:{one_line(path)}: {text}"
    if limit is not None and len(items) > limit:
        yield f"{label}: and {len(items) - limit} more (--verbose names all)"


def _outcome(report: Report) -> str:
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
