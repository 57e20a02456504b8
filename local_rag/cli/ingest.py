"""The command line of `ingest.py`: arguments, the closing report, the exit code."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict

from local_rag.cli.exit_codes import (
    INGEST,
    INTACT,
    NOTHING_DONE,
    PROBLEMS,
    REPORT_LOST,
    VERIFY,
    spelled,
)
from local_rag.cli.log_file import log_to_store
from local_rag.cli.progress import ProgressDisplay
from local_rag.cli.streams import say
from local_rag.cli.summary import outcome, summary
from local_rag.errors import OutputLost, RagError
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Settings, read_settings
from local_rag.text.sanitize import one_line

log = logging.getLogger(__name__)
ABOUT = (
    "Brings the index up to date with your documents. Safe at any moment, even while servers "
    "answer; only what has changed is embedded."
)
OPTIONS = {
    "--rebuild": "build the index from scratch, perhaps with another embedder; readers keep the "
    "old one until it is done",
    "--verify": "check the whole index, and change nothing",
    "--repair": "rebuild the index with its own embedder, from what is already embedded",
    "--dry-run": "say what would be done, and do nothing",
    "--allow-empty": "let an emptied folder remove its documents, or other folders replace the "
    "whole index",
    "--json": "print the report as JSON",
    "--verbose": "name every file, and log more",
}
EPILOG = f"exit codes: {spelled(INGEST)}. With --verify: {spelled(VERIFY)}."


def main(arguments: Sequence[str]) -> int:
    """Runs one ingest and returns its exit code."""
    os.umask(0o077)  # the store holds people's documents: nobody else may read it
    options = make_parser().parse_args(arguments)
    shown = logging.StreamHandler()
    shown.setLevel(logging.DEBUG if options.verbose else logging.ERROR)
    logging.basicConfig(level=logging.ERROR, handlers=[shown])
    if options.verbose:  # only our own: a Markdown parser logs every rule it tries
        logging.getLogger("local_rag").setLevel(logging.DEBUG)
    try:
        return _ingested(options)
    except OutputLost as error:
        _say(f"error: {error}")
        return REPORT_LOST


def _ingested(options: argparse.Namespace) -> int:
    """Does what the options say, prints the outcome, and returns the exit code."""
    try:
        loaded = read_settings()
        for warning in loaded.warnings:
            _say(f"warning: {warning}")
        if options.verify:
            return _verified(loaded.settings, options.json)
        report = _run(loaded.settings, options)
    except OutputLost:
        raise
    except RagError as error:
        return _failed(str(error), options.json)
    except KeyboardInterrupt:
        return _failed("Stopped. Finished embeddings are kept; run it again.", options.json)
    except Exception as error:  # the outermost edge: a scheduler reads exit code and last line
        log.debug("the failure in full", exc_info=True)
        return _failed(f"Unexpected failure: {error!r}. Nothing was published.", options.json)
    if options.json:
        say(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
    else:
        _show(report, verbose=options.verbose)
    return report.exit_code


def _show(report: Report, *, verbose: bool) -> None:
    on_terminal = sys.stderr.isatty()
    for line in summary(report, verbose=verbose, counts=not on_terminal):
        _say(line)
    if on_terminal:
        from local_rag.cli.summary import print_table  # a scheduled run needs no rich

        print_table(report)
    _say(outcome(report))


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _run(settings: Settings, options: argparse.Namespace) -> Report:
    asked = Options(options.rebuild, options.repair, options.dry_run, options.allow_empty)
    kept = nullcontext() if options.dry_run else log_to_store(settings.store_dir)
    with kept, ProgressDisplay() as progress:
        log.info("started: %s", asked)
        report = run_ingest(settings, asked, progress)
        log.info("%s; %d failed", outcome(report), len(report.failed))
        return report


def _verified(settings: Settings, as_json: bool) -> int:
    """Prints what is wrong with the live snapshot, and returns the exit code."""
    from local_rag.index.verify import verify  # opens Chroma

    verdict = verify(Store(settings.store_dir))
    exit_code = PROBLEMS if verdict.findings else INTACT
    if as_json:
        say(json.dumps(asdict(verdict) | {"exit_code": exit_code}, ensure_ascii=False))
        return exit_code
    for finding in verdict.findings:
        say(one_line(finding))
    say("To repair it: ingest.py --repair" if exit_code else "The index is intact.")
    if rest := verdict.files - verdict.compared:
        say(f"{rest} of {verdict.files} files not compared: changed since then, or not plain text")
    return exit_code


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser("ingest.py", description=ABOUT, epilog=EPILOG)
    for option, text in OPTIONS.items():
        parser.add_argument(option, action="store_true", help=text)
    return parser


def _failed(message: str, as_json: bool) -> int:
    if as_json:
        with suppress(OutputLost):  # the line below says more
            say(json.dumps({"error": message, "exit_code": NOTHING_DONE}, ensure_ascii=False))
    _say(f"error: {message}")
    return NOTHING_DONE
