"""The one table of formats: which names are documents, and what reads them."""

from __future__ import annotations

import importlib.util

import pytest

from local_rag.documents.formats.registry import FORMATS, format_of, is_generated


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.md", "Markdown"), ("a.MD", "Markdown"), ("sub.d/a.qmd", "Markdown"), ("a.txt", "text"),
        ("README", "text"), ("LICENSE", "text"), ("a.rst", "reStructuredText"), ("a.org", "Org"),
        ("a.adoc", "AsciiDoc"), ("a.html", "HTML"), ("a.csv", "table"), ("a.tsv", "table"),
        ("a.json", "data"), ("a.yaml", "data"), ("a.toml", "data"), ("a.py", "source code"),
        ("Makefile", "source code"), ("Dockerfile", "source code"), ("a.ipynb", "Jupyter notebook"),
        ("a.pdf", "PDF"), ("a.docx", "Word document"), ("a.pptx", "PowerPoint presentation"),
        ("a.odt", "OpenDocument text"), ("a.epub", "EPUB"), ("a.eml", "e-mail"),
    ],
)  # fmt: skip
def test_a_format_is_told_by_the_name(path: str, name: str) -> None:
    kind = format_of(path)
    assert kind is not None
    assert kind.name == name


@pytest.mark.parametrize("path", ["a.png", "a.exe", "notes", ".gitignore", "a.md.bak", "a.lock"])
def test_other_names_are_no_documents(path: str) -> None:
    assert format_of(path) is None


def test_every_converter_of_the_table_exists() -> None:
    modules = {kind.module for kind in FORMATS.values() if kind.module}
    assert all(importlib.util.find_spec(f"local_rag.documents.formats.{name}") for name in modules)


def test_what_programs_write_for_programs_is_told_by_the_name() -> None:
    names = ["package-lock.json", "jquery.min.js", "package.json", "main.js"]
    assert [is_generated(name) for name in names] == [True, True, False, False]
