"""The tools at a terminal: `python -m local_rag search|status|get`. It writes nothing.

The commands call the server's own tools in the same way.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from local_rag.cli.exit_codes import ANSWERED, FAILED, NO_MATCH, TERMINAL, spelled
from local_rag.cli.streams import say
from local_rag.errors import OutputLost, RagError

if TYPE_CHECKING:
    from local_rag.tools.toolset import Answer

ABOUT = "Searches and reads your indexed documents, and says how fresh the index is."
EPILOG = f"exit codes: {spelled(TERMINAL)}"


def main(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    options = vars(make_parser().parse_args(arguments))
    tool, as_json = options.pop("tool"), options.pop("json")
    logging.basicConfig(level=logging.ERROR)
    try:
        answer = _called(tool, options)
        text, structured = answer.text, answer.structured
    except RagError as error:
        text, structured = str(error), None
    failed = structured is None
    try:
        if not failed:
            say(json.dumps(structured, ensure_ascii=False, indent=1) if as_json else text)
        elif as_json:
            say(json.dumps({"error": text}, ensure_ascii=False))
        else:
            print(f"error: {text}", file=sys.stderr)
    except OutputLost as error:
        failed = True
        print(f"error: {error}", file=sys.stderr)
    if failed:
        return FAILED
    return NO_MATCH if structured and structured.get("hits") == [] else ANSWERED


def _called(tool: str, arguments: dict[str, Any]) -> Answer:
    """Calls a tool as the server does."""
    from local_rag.settings import read_settings
    from local_rag.tools.toolset import open_toolset

    given = {name: value for name, value in arguments.items() if value is not None}
    loaded = read_settings()
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    with closing(open_toolset(loaded.settings)) as tools:
        return tools.call(tool, given)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser("python -m local_rag", description=ABOUT, epilog=EPILOG)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    search = _command(commands, "search", "search_corpus", "search the indexed documents")
    search.add_argument("query", help="a question, a few words, or an exact name")
    search.add_argument("--limit", type=int, help="maximum number of hits")
    search.add_argument("--mode", choices=("hybrid", "semantic", "keyword"),
                        help="which kinds of search to use; default: hybrid")  # fmt: skip
    search.add_argument("--root", help="only documents in this root")
    search.add_argument("--path", help="only paths matching this glob")
    _command(commands, "status", "corpus_status", "say how fresh the index is")
    get = _command(commands, "get", "get_file", "read an indexed document")
    get.add_argument("path", help="a path, root:path, or a unique end of a path")
    get.add_argument("--start-line", type=int, help="first line; default: 1")
    get.add_argument("--end-line", type=int, help="last line; default: the end of the document")
    get.add_argument("--start-column", type=int, help="first column of the first line; default: 1")
    return parser


def _command(commands: Any, name: str, tool: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", help="print the structured answer")
    parser.set_defaults(tool=tool)
    return parser
