"""Jupyter notebooks: prose, code and printed output by cell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local_rag.documents.formats import ipynb as notebook
from local_rag.documents.formats.extract import Extract, Unconvertible
from local_rag.documents.metadata import CUT_MARK


def book(*cells: dict[str, Any], **other: Any) -> bytes:
    return json.dumps({"cells": list(cells), "nbformat": 4, **other}).encode()


def test_cells_are_labelled_and_empty_ones_counted() -> None:
    data = book(
        {"cell_type": "markdown", "source": ["# Title\n", "prose"]},
        {"cell_type": "code", "source": "", "outputs": []},
        {"cell_type": "code", "source": "print(1)", "outputs": [
            {"output_type": "stream", "text": ["1\n"]},
            {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Fig>"}},
        ]},
    )  # fmt: skip
    assert notebook.extract(data) == Extract(
        "# Title\nprose\n\n```python\nprint(1)\n```\n\n```output\n1\n```\n\n"
        "```output\n<Fig>\n```\n",
        pages=((0, "cell 1"), (15, "cell 3")),
    )


def test_an_error_is_kept_without_its_trace_and_colours() -> None:
    output = {"output_type": "error", "ename": "KeyError", "evalue": "\x1b[31m'x'\x1b[0m"}
    data = book({"cell_type": "code", "source": "d['x']", "outputs": [output]})
    assert notebook.extract(data).text == (
        "```python\nd['x']\n```\n\n```output\nKeyError: 'x'\n```\n"
    )


def test_a_long_output_is_cut_and_says_so() -> None:
    output = {"output_type": "stream", "text": "x" * 5_000}
    data = book({"cell_type": "code", "source": "", "outputs": [output]})
    assert notebook.extract(data).text == "```output\n" + "x" * 2_000 + "\n[cut]\n```\n"


def test_the_language_of_the_kernel_marks_the_code_and_fences_are_long_enough() -> None:
    cell = {"cell_type": "code", "source": "a = '```'"}
    data = book(cell, metadata={"language_info": {"name": "R"}})
    assert notebook.extract(data).text == "````R\na = '```'\n````\n"


def test_a_notebook_of_format_3_is_read() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "H"},
             {"cell_type": "code", "input": ["x = 1"]}]  # fmt: skip
    data = json.dumps({"worksheets": [{"cells": cells}]}).encode()
    assert notebook.extract(data).text == "## H\n\n```python\nx = 1\n```\n"


def test_what_is_odd_about_the_front_matter_of_the_first_cell_is_said() -> None:
    tags = ", ".join(["t"] * 600)
    front = f"---\ntags: [{tags}]\nlifecycle: superseded\nLifecycle: superseded\n---"
    found = notebook.extract(book({"cell_type": "raw", "source": front}))
    assert found.metadata["lifecycle"] == "superseded"
    assert found.warnings == ("line 4 repeats the key 'lifecycle': the last value wins", CUT_MARK)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"{", b"\xff", b"[" * 100_000, b'{"cells": 1}']
)
def test_what_is_no_notebook_says_so(data: bytes) -> None:
    with pytest.raises(Unconvertible, match=r"^not a Jupyter notebook$"):
        notebook.extract(data)
