"""Jupyter notebooks to Markdown: prose, code and printed output, labelled by cell."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from local_rag.documents.formats.extract import Extract, Pages, Unconvertible
from local_rag.documents.front_matter import FrontMatter, parse_front_matter
from local_rag.documents.metadata import HIDING_KEYS, normalise

KEPT_KEYS = ("title", "tags", "date", "aliases", *HIDING_KEYS)
LONGEST_OUTPUT = 2_000  # characters of one output; a training log has megabytes
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # in tracebacks


def extract(data: bytes) -> Extract:
    """The cells of a notebook of format 3 or 4."""
    try:
        book = json.loads(data.decode("utf-8-sig"))
        sheets = book.get("worksheets") or [book]
        every = [cell for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise Unconvertible("not a Jupyter notebook") from error
    # An entry that is not a cell still takes a number.
    cells = [cell if isinstance(cell, dict) else {} for cell in every]
    language = _language(book)
    pages = Pages()
    for number, cell in enumerate(cells, 1):
        pages.add(f"cell {number}", _cell(cell, language))
    front = _front_matter(cells[0]) if cells else FrontMatter()
    metadata = normalise(_own_metadata(book) | front.keys)
    warnings = front.warnings + metadata.warnings
    return replace(pages.extract(metadata=metadata.values), warnings=warnings)


def _front_matter(first: dict[str, Any]) -> FrontMatter:
    """The front matter in the first cell, as Quarto has it."""
    if first.get("cell_type") not in ("raw", "markdown"):
        return FrontMatter()
    return parse_front_matter(_text(first.get("source", "")))


def _own_metadata(book: dict[str, Any]) -> dict[str, Any]:
    metadata = book.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    return {key: metadata[key] for key in KEPT_KEYS if key in metadata}


def _language(book: dict[str, Any]) -> str:
    metadata = book.get("metadata")
    found = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = found.get("name") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.isalnum() else "python"


def _cell(cell: dict[str, Any], language: str) -> str:
    source = _text(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if kind == "heading":  # of format 3
        return "#" * int(cell.get("level", 1)) + " " + source
    if kind != "code":
        return source
    shown = [_fenced(source, language)] if source.strip() else []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        text = COLOUR_CODES.sub("", _output(output)).strip("\n")
        if text:
            cut = text[:LONGEST_OUTPUT] + ("\n[cut]" if len(text) > LONGEST_OUTPUT else "")
            shown.append(_fenced(cut, "output"))
    return "\n\n".join(shown)


def _output(output: Any) -> str:
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    data = output.get("data", output)
    if not isinstance(data, dict):
        return ""
    return _text(data.get("text/markdown") or data.get("text/plain") or data.get("text") or "")


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _fenced(text: str, language: str) -> str:
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
