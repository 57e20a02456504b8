"""The command line of `ingest.py`: arguments, the closing report, the exit code.

Leaves out the work itself (`pipeline`), how far it is (`progress`), and the wording of the report
(`summary`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict

from local_rag.cli.log_file import log_to_store
from local_rag.cli.progress import ProgressDisplay
from local_rag.cli.streams import say
from local_rag.cli.summary import outcome, summary
from local_rag.errors import OutputLost, RagError
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Settings, load_settings, unknown_variables
from local_rag.text.sanitize import one_line

log = logging.getLogger(__name__)
ABOUT = (
    "Brings the index up to date with your documents. It is safe at any moment, also while "
    "servers answer; only what has changed is embedded."
)
EPILOG = (
    "exit codes: 0 all indexed; 1 finished, some files skipped or failed; 2 nothing done; "
    "3 finished, but the report could not be printed"
)
REPORT_LOST = 3


def main(arguments: Sequence[str]) -> int:
    """Runs one ingest and answers its exit code."""
    os.umask(0o077)  # the store holds people's documents: nobody else may read it
    options = make_parser().parse_args(arguments)
    shown = logging.StreamHandler()
    shown.setLevel(logging.DEBUG if options.verbose else logging.ERROR)
    logging.basicConfig(level=logging.ERROR, handlers=[shown])
    if options.verbose:  # our own alone: a Markdown parser logs every rule it tries
        logging.getLogger("local_rag").setLevel(logging.DEBUG)
    try:
        return _ingested(options)
    except OutputLost as error:
        _say(f"error: {error}")
        return REPORT_LOST


def _ingested(options: argparse.Namespace) -> int:
    """Does what the options say, tells what came of it, and answers the exit code."""
    try:
        settings = load_settings()
        for name in unknown_variables():
            _say(f"warning: {name} is no setting")
        if options.verify:
            return _verified(settings, options.json)
        report = _run(settings, options)
    except OutputLost:
        raise
    except RagError as error:
        return _failed(str(error), options.json)
    except KeyboardInterrupt:
        return _failed("Stopped. What is embedded is kept; run it again.", options.json)
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
        from local_rag.cli.summary import print_table  # rich: a scheduler's runs need none of it

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
    """Prints what is wrong with the live snapshot."""
    from local_rag.index.verify import verify  # opens Chroma

    verdict = verify(Store(settings.store_dir))
    exit_code = int(bool(verdict.findings))
    if as_json:
        say(json.dumps(asdict(verdict) | {"exit_code": exit_code}, ensure_ascii=False))
        return exit_code
    for finding in verdict.findings:
        say(one_line(finding))
    say("to mend it: ingest.py --repair" if exit_code else "the index is whole")
    if rest := verdict.files - verdict.compared:
        say(f"{rest} of {verdict.files} files not compared: changed since, or not plain text")
    return exit_code


def make_parser() -> argparse.ArgumentParser:
    """The parser of its options."""
    parser = argparse.ArgumentParser("ingest.py", description=ABOUT, epilog=EPILOG)
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
    return parser


def _failed(message: str, as_json: bool) -> int:
    if as_json:
        with suppress(OutputLost):  # the line below says more
            say(json.dumps({"error": message, "exit_code": 2}, ensure_ascii=False))
    _say(f"error: {message}")
    return 2
