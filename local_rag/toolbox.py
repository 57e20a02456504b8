"""The table of tools: name, description, shapes and method of each.

Leaves out the protocol (`serve`) and what the tools do (`tools`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from pydantic import BaseModel

from local_rag import answers, answers_files, answers_status
from local_rag.tools import Tools

NULL = {"type": "null"}


@dataclass(frozen=True)
class ToolSpec:
    """One tool on the wire. `call` takes the checked arguments and answers a result model."""

    name: str
    description: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    call: Callable[[Any], Any]

    def listed(self) -> types.Tool:
        """How `tools/list` shows it."""
        return types.Tool(
            name=self.name,
            description=" ".join(self.description.split()),
            input_schema=lean_schema(self.arguments),
            output_schema=lean_schema(self.result),
            annotations=types.ToolAnnotations(
                read_only_hint=True,
                idempotent_hint=True,
                destructive_hint=False,
                open_world_hint=False,
            ),
        )


def lean_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema in the fewest bytes: a client pays for each of them in every session."""
    schema: dict[str, Any] = _lean(model.model_json_schema())
    del schema["description"]  # the tool has one that says more
    return schema


def _lean(schema: Any) -> Any:
    """Leaves out titles made of names, and that a field could be null: it is left out instead."""
    if isinstance(schema, list):
        return [_lean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    if NULL in kept.get("anyOf", ()):
        (one,) = (option for option in kept.pop("anyOf") if option != NULL)
        kept = one | {k: v for k, v in kept.items() if k != "default"}
    kept.pop("maxLength", None)  # far above anything that is meant
    return {name: _lean(value) for name, value in kept.items()}


SEARCH = """\
Search the user's documents by meaning and by exact words at once: the first call for nearly every
question. Hits are passages, best first, with root, path and lines to cite. score is the place in
the order: the scaled cosine and BM25 of each arm, added with weights, relative to this answer. How
good a match is say cosine (meaning) and keyword_rank (words); weak hits are probably no answer.
stale hits come from a file that has changed or gone since it was indexed. Superseded documents
appear only with include_superseded. To read more, fetch the hits' ids."""
FETCH = """\
Read hits whole, up to 10 ids of search_corpus at once, with so many chunks before and after each.
Text comes once for each document, in its order, with lines to cite and the call that reads on. An
id that is no longer in the index is listed as missing: that document changed; search again."""
GET_FILE = """\
Read an indexed document from its beginning or from a line on, by path, root:path or a unique file
name. Long files come in pages, and next_call gives the next one. The text is as indexed; state
says if the file on disk has changed since or is gone."""
LIST_FILES = """\
List the indexed documents with title, size, date, lifecycle and number of chunks, picked by glob,
root, tag, lifecycle or date, in pages. For questions about what there is, what is new or what was
retired; to find what a document says, search instead."""
OUTLINE = """\
The headings of a document with their line ranges (pages of a PDF), to pick what to read with
get_file instead of reading a long document whole."""
GREP = """\
Find every line that has a text exactly, or fits an RE2 expression with regex, in the indexed
documents, with line numbers. For identifiers, error codes and "where does this occur at all";
for questions use search_corpus. It stops after 5 seconds and says how far it came."""
STATUS = """\
What is indexed and how fresh it is: roots with their git commits, files that are new, changed or
gone since, counts, the embedder and whether it answers, the age of the index, warnings of the last
ingest, and the command that brings it up to date. Call it when answers look old or incomplete."""


def tool_specs(tools: Tools) -> list[ToolSpec]:
    """Every tool that the server offers."""
    return [
        ToolSpec(
            "search_corpus",
            SEARCH,
            answers.SearchArguments,
            answers.SearchResult,
            tools.search_corpus,
        ),
        ToolSpec("fetch", FETCH, answers.FetchArguments, answers.FetchResult, tools.fetch),
        ToolSpec(
            "get_file",
            GET_FILE,
            answers_files.FileArguments,
            answers_files.FileResult,
            tools.get_file,
        ),
        ToolSpec(
            "list_files",
            LIST_FILES,
            answers_files.ListArguments,
            answers_files.ListResult,
            tools.list_files,
        ),
        ToolSpec(
            "outline",
            OUTLINE,
            answers_files.OutlineArguments,
            answers_files.OutlineResult,
            tools.outline,
        ),
        ToolSpec(
            "grep_corpus",
            GREP,
            answers_files.GrepArguments,
            answers_files.GrepResult,
            tools.grep_corpus,
        ),
        ToolSpec(
            "corpus_status",
            STATUS,
            answers.Arguments,
            answers_status.StatusResult,
            tools.corpus_status,
        ),
    ]
