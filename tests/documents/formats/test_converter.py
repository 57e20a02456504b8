"""The process that converts: its limits, and that a hang or crash costs one file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from local_rag.documents.formats import converter as converter_module
from local_rag.documents.formats import html as webpage
from local_rag.documents.formats.converter import Converter
from local_rag.documents.formats.extract import Extract, Unconvertible
from local_rag.documents.formats.registry import FORMATS, Format
from local_rag.documents.formats.worker import answer

HTML = FORMATS[".html"]
ECHO = (
    "import sys; from local_rag.documents.formats.worker import *\n"
    "while (request := receive(sys.stdin.buffer)) is not None:\n"
    "    if b'hang' in request: import time; time.sleep(600)\n"
    "    if b'crash' in request: import os; os._exit(3)\n"
    "    send(sys.stdout.buffer, answer(request))\n"
)


@pytest.fixture
def converter() -> Iterator[Converter]:
    with closing(Converter(1_000)) as made:
        yield made


def reason(converter: Converter, data: bytes, kind: Format = HTML) -> str:
    with pytest.raises(Unconvertible) as caught:
        converter.convert(kind, data)
    return str(caught.value)


def test_a_file_is_converted_and_so_is_the_next_after_a_failure(converter: Converter) -> None:
    assert converter.convert(HTML, b"<p>one</p>") == Extract("one\n")
    assert reason(converter, b"[]", FORMATS[".ipynb"]) == "not a Jupyter notebook"
    assert converter.convert(HTML, b"<p>two</p>") == Extract("two\n")


def test_a_hang_and_a_crash_cost_that_file_alone() -> None:
    with closing(Converter(1_000, command=(sys.executable, "-c", ECHO))) as made:
        assert reason(made, b"<p>crash</p>") == "the converter crashed on this file"
        assert made.convert(HTML, b"<p>one</p>") == Extract("one\n")
        made.wall = 0.5
        assert reason(made, b"<p>hang</p>") == "not converted within 0.5 s"
        made.wall = 60.0
        assert made.convert(HTML, b"<p>two</p>") == Extract("two\n")


@pytest.mark.skipif(sys.platform == "win32", reason="the clock alone is looked at there")
def test_what_computes_too_long_costs_that_file_alone() -> None:
    with closing(Converter(1_000_000, seconds=0.05)) as made:
        busy = reason(made, b"<p>" + b"<table><tr><td>x" * 100_000)
        assert busy == "not converted within 0.05 s of computing"
        made.seconds = 60.0
        assert made.convert(HTML, b"<p>two</p>") == Extract("two\n")


def test_a_text_over_the_limit_is_refused(converter: Converter) -> None:
    assert reason(converter, b"<p>" + b"x" * 1_000) == "its text is larger than 0.001 MB"
    assert converter.convert(HTML, b"<p>" + b"x" * 999).text == "x" * 999 + "\n"


def test_a_format_whose_library_is_missing_says_how_to_install_it(converter: Converter) -> None:
    kind = Format("Scroll", module="scroll", needs="no_such_library")
    assert reason(converter, b"", kind) == (
        "Scroll needs no_such_library: pip install -r requirements/formats.txt"
    )


def test_a_new_process_is_started_after_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    popen = subprocess.Popen

    def counted(*arguments: object, **options: object) -> object:
        started.append(1)
        return popen(*arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(converter_module, "FILES_PER_PROCESS", 2)
    monkeypatch.setattr(subprocess, "Popen", counted)
    with closing(Converter(1_000)) as made:
        for _ in range(5):
            made.convert(HTML, b"<p>x</p>")
    assert len(started) == 3


def test_without_a_file_to_convert_no_process_is_started() -> None:
    with closing(Converter(1_000, command=("/no/such/program",))):
        pass


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "takes too much memory to read"),
        (RecursionError(), "is nested too deep"),
        (ZeroDivisionError("by\nzero"), "damaged: ZeroDivisionError: by zero"),
        (Unconvertible("holds no text"), "holds no text"),
    ],
)
def test_whatever_a_parser_raises_is_a_reason(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extract(_: bytes) -> Extract:
        raise error

    monkeypatch.setattr(webpage, "extract", extract)
    assert json.loads(answer(b"html 10 60\n")) == {"error": said}


def test_a_lone_surrogate_in_a_file_does_not_reach_the_index(converter: Converter) -> None:
    cell = b'{"cells": [{"cell_type": "markdown", "source": "a \\ud800 b"}]}'
    assert converter.convert(FORMATS[".ipynb"], cell).text == "a ? b\n"
