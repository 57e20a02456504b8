"""A document that its author marks private is never found, whatever its format."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import pytest

from local_rag.index.snapshots import Store
from tests.conftest import Corpus, Run
from tests.documents.formats.test_found_again import epub
from tests.documents.formats.test_office import O, archive, paragraph, word_file

CUSTOM = (
    '<Properties xmlns="x" xmlns:vt="y"><property name="{0}"><vt:{1}>{2}</vt:{1}></property>'
    "</Properties>"
)


def notebook(*cells: str, **metadata: object) -> str:
    made = [{"cell_type": "raw", "source": cell} for cell in cells]
    return json.dumps({"cells": [*made, {"cell_type": "code", "source": "x"}],
                       "metadata": metadata})  # fmt: skip


def odt(meta: str) -> bytes:
    content = f"<c {O}><office:body><office:text><text:p>x</text:p></office:text></office:body></c>"
    return archive({"content.xml": content, "meta.xml": f'<m xmlns:meta="m">{meta}</m>'})


def changed(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """The archive with one part other than it was."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    return archive(parts | {part: change(parts.get(part, ""))})


def office(data: bytes, kind: str, value: str) -> bytes:
    return changed(data, "docProps/custom.xml", lambda _: CUSTOM.format("Rag", kind, value))


BOOK = '<package><metadata><meta name="rag" content="no"/></metadata>'
PRIVATE = {
    "md": "---\nrag: false\n---\ntext\n",
    "md toml": "+++\nrag = false\n+++\ntext\n",
    "md json": '{\n"rag": false\n}\ntext\n',
    "txt": "---\nrag: no\n---\ntext\n",
    "md twice": "---\nrag: no\ntitle: x\nRag: yes\n---\ntext\n",
    "org": "#+title: x\n#+RAG: false\n* H\ntext\n",
    "org below": "* H\n\ntext\n#+rag: nil\n#+rag: off\n",
    "org drawer": ":PROPERTIES:\n:ID: 1\n:RAG: no\n:END:\n* H\ntext\n",
    "org yaml": "---\nrag: false\n---\n* H\ntext\n",
    "adoc": "= Title\nAnn\n:rag: false\n\ntext\n",
    "adoc unset": "= Title\n:!rag:\n\ntext\n",
    "adoc unset too": "= Title\n:rag!:\n\ntext\n",
    "rst": ":Author: x\n:rag: false\n\nTitle\n=====\n\ntext\n",
    "rst meta": "Title\n=====\n\n.. meta::\n   :keywords: x\n   :rag: false\n\ntext\n",
    "html": '<html><head><meta name="RAG" content="false"></head><p>text',
    "html yaml": "---\nrag: false\n---\n<p>text",
    "ipynb": notebook(rag=False),
    "ipynb word": notebook(rag="no"),
    "ipynb cell": notebook("---\ntitle: x\nrag: false\n---\n"),
    "docx": office(word_file(paragraph("text")), "lpwstr", "No"),
    "docx bool": office(word_file(paragraph("text")), "bool", "false"),
    "pptx": office(archive({"ppt/presentation.xml": "<p/>"}), "lpwstr", "false"),
    "odt": odt('<meta:user-defined meta:name="rag">false</meta:user-defined>'),
    "epub": changed(epub("text"), "b.opf", lambda text: text.replace("<package>", BOOK)),
}


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_private_document_is_left_out_named_and_not_read_again(
    kind: str, corpus: Corpus, run: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("kept.md", "kept\n")
    corpus.write(f"private.{kind.split(maxsplit=1)[0]}", PRIVATE[kind])
    report = run()
    assert (report.files, report.exit_code) == (1, 0)
    assert report.left_out_by_reason == {"excluded by rag: false": 1}
    monkeypatch.setattr("local_rag.ingest.loader.DocumentLoader.read", None)
    again = run()
    assert (again.published, again.left_out_by_reason) == ("", {"excluded by rag: false": 1})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.org", "text\n#+begin_src\nrag: false\n#+end_src\n"),
        ("a.adoc", "= Title\n:rag: true\n\ntext\n"),
        ("a.rst", "Title\n=====\n\n" + "text\n" * 100 + ":rag: false\n"),
        ("a.html", "<p>rag: false"),
        ("a.py", "rag = False\n"),
        ("a.csv", "rag,false\n"),
    ],
)
def test_what_only_speaks_of_it_is_found(
    name: str, text: str, corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write(name, text)
    assert run().files == 1


def test_a_retired_document_in_other_markup_is_retired(
    corpus: Corpus, run: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    corpus.write("a.org", "#+lifecycle: superseded\n#+superseded_by: b.org\n* H\ntext\n")
    corpus.write("b.html", '<meta name="lifecycle" content="superseded"><p>text')
    run()
    assert store.current().manifest.superseded_chunks == 2
