"""One file of each format: what is indexed of it, and where a phrase of its middle is found."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.index.live_index import LiveIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Settings
from local_rag.tools.get_file import FileArguments, get_file
from local_rag.tools.search_corpus import SearchArguments, search_corpus
from local_rag.tools.tool import Sources
from local_rag.tools.toolset import Toolset

FILLER = "Plain words about the weather and the sea follow each other here. "
SEVERAL = range(1, 10)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


class Silent:
    def notice(self, text: str) -> None:
        pass

    def start(self, files: int) -> None:
        pass

    def advance(self, embedded: int) -> None:
        pass


def archive(parts: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return stream.getvalue()


def passage(number: int, phrase: str) -> str:
    """A page's worth of text; the phrase stands on the fifth alone."""
    return f"Part {number}. " + FILLER * 20 + (phrase if number == 5 else "") + FILLER * 20


def sections(mark: Callable[[str], str]) -> Callable[[str], bytes]:
    def make(phrase: str) -> bytes:
        parts = (f"{mark(f'Section {n}')}\n\n{passage(n, phrase)}\n\n" for n in SEVERAL)
        return "".join(parts).encode()

    return make


def html(phrase: str) -> bytes:
    return "".join(f"<h2>Section {n}</h2><p>{passage(n, phrase)}</p>" for n in SEVERAL).encode()


def rows(separator: str) -> Callable[[str], bytes]:
    def make(phrase: str) -> bytes:
        lines = [f"name{separator}remark"]
        lines += [f"row {n}{separator}{phrase if n == 500 else FILLER}" for n in range(1, 999)]
        return "\n".join(lines).encode()

    return make


def data(phrase: str) -> bytes:
    items = {f"key {n}": phrase if n == 50 else FILLER for n in range(100)}
    return json.dumps(items, indent=1).encode()


def code(phrase: str) -> bytes:
    lines = (
        f"def f{n}():\n    # {phrase if n == 50 else FILLER}\n    return {n}\n" for n in range(100)
    )
    return "\n\n".join(lines).encode()


def notebook(phrase: str) -> bytes:
    cells = [{"cell_type": "markdown", "source": passage(n, phrase)} for n in SEVERAL]
    return json.dumps({"cells": cells}).encode()


def pdf(phrase: str) -> bytes:
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{2 + 2 * n} 0 R' for n in SEVERAL)}] /Count 9 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n in SEVERAL:
        lines = passage(n, phrase).split(". ")
        stream = f"BT /F1 8 Tf 9 TL 20 780 Td {' T* '.join(f'({line}.) Tj' for line in lines)} ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800]"
            f" /Resources << /Font << /F1 3 0 R >> >> /Contents {3 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    file, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(file))
        file += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return file + f"{end}startxref\n{len(file)}\n%%EOF\n".encode()


def docx(phrase: str) -> bytes:
    body = "".join(
        '<w:p><w:pPr><w:pStyle w:val="h"/></w:pPr><w:r><w:t>Section '
        f"{n}</w:t></w:r></w:p><w:p><w:r><w:t>{passage(n, phrase)}</w:t></w:r></w:p>"
        for n in SEVERAL
    )
    styles = '<w:style w:styleId="h"><w:name w:val="heading 2"/></w:style>'
    return archive({
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {W}>{styles}</w:styles>",
    })  # fmt: skip


def pptx(phrase: str) -> bytes:
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in SEVERAL)
    links = "".join(
        f'<Relationship Id="r{n}" Type="x/slide" Target="slides/slide{n}.xml"/>' for n in SEVERAL
    )
    namespace = "http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{namespace}">{links}'
        "</Relationships>",
    }
    for n in SEVERAL:
        text = f"<a:p><a:r><a:t>{passage(n, phrase)}</a:t></a:r></a:p>"
        parts[f"ppt/slides/slide{n}.xml"] = (
            f"<p:sld {P} {A}><p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>"
            "</p:sld>"
        )
    return archive(parts)


def odt(phrase: str) -> bytes:
    body = "".join(
        f'<text:h text:outline-level="2">Section {n}</text:h><text:p>{passage(n, phrase)}</text:p>'
        for n in SEVERAL
    )
    names = f'xmlns:office="{OFFICE}:office:1.0" xmlns:text="{OFFICE}:text:1.0"'
    return archive({
        "content.xml": f"<office:document-content {names}><office:body><office:text>{body}"
        "</office:text></office:body></office:document-content>"
    })  # fmt: skip


def epub(phrase: str) -> bytes:
    items = "".join(
        f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in SEVERAL
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in SEVERAL)
    parts = {
        "META-INF/container.xml": '<container><rootfile full-path="b.opf"/></container>',
        "b.opf": f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    pages = {f"c{n}.xhtml": f"<html><body>{passage(n, phrase)}</body></html>" for n in SEVERAL}
    return archive(parts | pages)


def eml(phrase: str) -> bytes:
    body = "\n".join(passage(n, phrase) for n in SEVERAL)
    return f"From: ann@example.org\nSubject: Weather\n\n{body}\n".encode()


# By file name what makes it, the word that its phrase begins with, and the label of the hit.
FILES: dict[str, tuple[Callable[[str], bytes], str, str]] = {
    "a.md": (sections("## {}".format), "amber", ""),
    "b.mdx": (sections("## {}".format), "basalt", ""),
    "c.txt": (sections("{}".format), "cobalt", ""),
    "d.rst": (sections(lambda title: f"{title}\n========="), "dolomite", ""),
    "e.org": (sections("** {}".format), "emerald", ""),
    "f.adoc": (sections("== {}".format), "feldspar", ""),
    "g.html": (html, "garnet", ""),
    "h.csv": (rows(","), "hematite", ""),
    "i.tsv": (rows("\t"), "iolite", ""),
    "j.json": (data, "jasper", ""),
    "k.yaml": (data, "kunzite", ""),
    "l.toml": (sections("[{}]".format), "larimar", ""),
    "m.py": (code, "malachite", ""),
    "n.ipynb": (notebook, "nephrite", "cell 5"),
    "o.pdf": (pdf, "obsidian", "page 5"),
    "p.docx": (docx, "peridot", ""),
    "q.pptx": (pptx, "quartz", "slide 5"),
    "r.odt": (odt, "rhodonite", ""),
    "s.epub": (epub, "sapphire", "chapter 5"),
    "t.eml": (eml, "topaz", ""),
}


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Report, Toolset]]:
    folder: Path = tmp_path_factory.mktemp("formats")
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, (make, word, _) in FILES.items():
        (corpus / name).write_bytes(make(f"The {word} lighthouse keeper counts gulls. "))
    settings = Settings(corpus_dir=(str(corpus),), store_dir=folder / "store", embedder="none")
    report = run_ingest(settings, Options(), Silent())
    with closing(LiveIndex(Store(settings.store_dir))) as live:
        yield report, Toolset(Sources(live, QueryEmbedder(lambda _: None), settings))


def test_every_file_is_indexed_without_a_warning(ingested: tuple[Report, Toolset]) -> None:
    report, _ = ingested
    assert (report.files, report.skipped, report.failed, report.warnings) == (20, [], [], [])


@pytest.mark.parametrize("name", FILES)
def test_a_phrase_of_the_middle_is_found_at_its_place(
    name: str, ingested: tuple[Report, Toolset]
) -> None:
    _, tools = ingested
    _, word, label = FILES[name]
    asked = SearchArguments(query=f"{word} lighthouse keeper", limit=1)
    hit = search_corpus(tools.sources, asked).hits[0]
    assert (hit.path, hit.label or "") == (name, label)
    assert f"The {word} lighthouse keeper counts gulls." in " ".join(hit.text.split())
    page = FileArguments(path=name, start_line=hit.start_line, end_line=hit.end_line)
    assert word in get_file(tools.sources, page).text


@pytest.mark.parametrize("name", ["a.md", "d.rst", "e.org", "f.adoc", "g.html", "p.docx", "r.odt"])
def test_a_hit_names_the_section_it_stands_in(name: str, ingested: tuple[Report, Toolset]) -> None:
    _, tools = ingested
    query = f"{FILES[name][1]} lighthouse keeper"
    hit = search_corpus(tools.sources, SearchArguments(query=query, limit=1)).hits[0]
    assert hit.headings == ["Section 5"]


def test_lines_of_a_text_format_are_those_of_the_file(ingested: tuple[Report, Toolset]) -> None:
    _, tools = ingested
    hit = search_corpus(tools.sources, SearchArguments(query="hematite", limit=1)).hits[0]
    assert hit.start_line <= 501 <= hit.end_line
    hit = search_corpus(tools.sources, SearchArguments(query="malachite", limit=1)).hits[0]
    assert hit.start_line <= 5 * 50 + 2 <= hit.end_line


def test_a_hit_is_shown_with_its_page(ingested: tuple[Report, Toolset]) -> None:
    _, tools = ingested
    shown = search_corpus(tools.sources, SearchArguments(query="obsidian", limit=1)).markdown()
    assert "corpus:o.pdf page 5, lines" in shown
