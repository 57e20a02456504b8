"""The command line of `ingest.py`: arguments, progress, the closing report, the exit code.

Leaves out the work itself (`pipeline`) and the wording of the report (`summary`).
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
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
from local_rag.logs import logged_to
from local_rag.pipeline import Options, run_ingest
from local_rag.report import Report
from local_rag.settings import Settings, load_settings, unknown_variables
from local_rag.snapshots import Store
from local_rag.summary import NAMED, outcome, summary, table
from local_rag.verify import verify

log = logging.getLogger(__name__)

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
    # A run makes a record for every file and keeps it to the end: looking through them again and
    # again for garbage took a quarter of a run in which nothing had changed.
    gc.set_threshold(100_000)
    options = _parse(arguments)
    console = Console(stderr=True, soft_wrap=True)
    shown = logging.StreamHandler()
    shown.setLevel(logging.DEBUG if options.verbose else logging.ERROR)
    logging.basicConfig(level=logging.ERROR, handlers=[shown])
    if options.verbose:  # our own alone: a Markdown parser logs every rule it tries
        logging.getLogger("local_rag").setLevel(logging.DEBUG)
    try:
        settings = load_settings()
        for name in unknown_variables():
            console.print(Text(f"warning: {name} is no setting"))
        if options.verify:
            return _verified(settings, options.json)
        report = _run(settings, options, console)
    except RagError as error:
        return _failed(str(error), options.json, console)
    except KeyboardInterrupt:
        return _failed("Stopped. What is embedded is kept; run it again.", options.json, console)
    except Exception as error:  # the outermost edge: a scheduler reads exit code and last line
        log.debug("the failure in full", exc_info=True)
        return _failed(
            f"Unexpected failure: {error!r}. Nothing was published.", options.json, console
        )
    if options.json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
    else:
        for line in summary(report, verbose=options.verbose, counts=not console.is_terminal):
            console.print(Text(line))
        if console.is_terminal:
            console.print(table(report))
        console.print(Text(outcome(report)))
    return report.exit_code


def _run(settings: Settings, options: argparse.Namespace, console: Console) -> Report:
    asked = Options(options.rebuild, options.repair, options.dry_run, options.allow_empty)
    kept = nullcontext() if options.dry_run else logged_to(settings.store_dir)
    with kept, ShownProgress(console) as progress:
        log.info("started: %s", asked)
        report = run_ingest(settings, asked, progress)
        log.info("%s; %d failed", outcome(report), len(report.failed))
        return report


def _verified(settings: Settings, as_json: bool) -> int:
    """Prints what is wrong with the live snapshot."""
    verdict = verify(Store(settings.store_dir))
    exit_code = int(bool(verdict.findings))
    if as_json:
        print(json.dumps(asdict(verdict) | {"exit_code": exit_code}, ensure_ascii=False))
        return exit_code
    for finding in verdict.findings:
        print(one_line(finding))
    print("to mend it: ingest.py --repair" if exit_code else "the index is whole")
    if rest := verdict.files - verdict.compared:
        print(f"{rest} of {verdict.files} files not compared: changed since, or not plain text")
    return exit_code


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("ingest.py", description=__doc__, epilog=EPILOG)
    parser.add_argument("--rebuild", action="store_true", help="build the index anew, perhaps with "
                        "another embedder; readers keep the old one until it is done")  # fmt: skip
    parser.add_argument("--verify", action="store_true", help="look through the whole index and "
                        "change nothing; 0: it is whole, 1: it is not")  # fmt: skip
    parser.add_argument("--repair", action="store_true", help="build the index anew from what is "
                        "embedded already, with the embedder that it has")  # fmt: skip
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
