"""Word, PowerPoint and OpenDocument files, made here part by part, and archives that attack."""

from __future__ import annotations

import io
import zipfile

import pytest

from local_rag.documents.formats import docx as word
from local_rag.documents.formats import odt as opendocument
from local_rag.documents.formats import pptx as slides
from local_rag.documents.formats.extract import Extract, Unconvertible
from local_rag.documents.formats.zip_xml import INFLATED, Archive

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
O = f'xmlns:office="{OFFICE}:office:1.0" xmlns:text="{OFFICE}:text:1.0" xmlns:table="{OFFICE}:table:1.0"'  # noqa: E501, E741
CORE = (
    '<c:coreProperties xmlns:c="x" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>{title}</dc:title><dc:creator>Ann</dc:creator></c:coreProperties>"
)


def archive(parts: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return stream.getvalue()


STYLES = (
    f"<w:styles {W}>"
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="H2"><w:name w:val="Heading 2"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Chapter"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr>'
    "</w:style></w:styles>"
)


def paragraph(text: str, style: str = "", extra: str = "") -> str:
    name = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{name}{extra}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def word_file(body: str, **parts: str) -> bytes:
    document = f"<w:document {W}><w:body>{body}</w:body></w:document>"
    others = {f"word/{name}.xml": text for name, text in parts.items()}
    core = CORE.format(title="Plan")
    return archive(
        {"word/document.xml": document, "word/styles.xml": STYLES, "docProps/core.xml": core}
        | others
    )


ITEM = '<w:numPr><w:ilvl w:val="{0}"/></w:numPr>'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (paragraph("Top", "berschrift1") + paragraph("one"), "# Top\n\none\n"),
        (paragraph("A", "H2") + paragraph("B", "Own"), "## A\n\n### B\n"),
        (
            paragraph("one", extra=ITEM.format(0)) + paragraph("deep", extra=ITEM.format(1)),
            "- one\n  - deep\n",
        ),
        (
            "<w:tbl><w:tr><w:tc>" + paragraph("A") + "</w:tc><w:tc>" + paragraph("B")
            + "</w:tc></w:tr><w:tr><w:tc>" + paragraph("1") + "</w:tc><w:tc>" + paragraph("2")
            + "</w:tc></w:tr></w:tbl>",
            "| A | B |\n| --- | --- |\n| 1 | 2 |\n",
        ),
        ("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>", "a\tb\nc\n"),
        (
            "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
            "<w:ins><w:r><w:t>kept</w:t></w:r></w:ins></w:p>",
            "kept\n",
        ),
        (
            "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:hyperlink><w:r><w:t>link</w:t>"
            "</w:r></w:hyperlink></w:p>",
            "link\n",
        ),
        ("<w:sdt><w:sdtContent>" + paragraph("in a field") + "</w:sdtContent></w:sdt>",
         "in a field\n"),
        (paragraph("# no heading"), "\\# no heading\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_word_document_becomes_markdown(body: str, text: str) -> None:
    assert word.extract(word_file(body)) == Extract(text, "Plan", (), {"author": "Ann"})


def test_footnotes_of_a_word_document_follow_its_text() -> None:
    body = '<w:p><w:r><w:t>fact</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="0" w:type="separator">{paragraph("---")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("the source")}</w:footnote></w:footnotes>'
    )
    assert word.extract(word_file(body, footnotes=notes)).text == "fact[^f2]\n\n[^f2]: the source\n"


def related(*parts: tuple[str, str, str]) -> str:
    items = "".join(f'<Relationship Id="{i}" Type="x/{t}" Target="{to}"/>' for i, t, to in parts)
    return f'<Relationships xmlns="{RELATIONS}">{items}</Relationships>'


def shape(text: str, kind: str) -> str:
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    place = f'<p:ph type="{kind}"/>' if kind else ""
    return f"<p:sp><p:nvSpPr><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def slide(*shapes: str) -> str:
    return f"<p:sld {P} {A}><p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld></p:sld>"


def test_a_presentation_is_read_in_the_order_of_its_slides_with_their_notes() -> None:
    table = (
        "<p:graphicFrame><a:graphic><a:tbl>"
        + "".join(
            "<a:tr>"
            + "".join(
                f"<a:tc><p:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></p:txBody></a:tc>"
                for c in row
            )
            + "</a:tr>"
            for row in ("AB", "12")
        )
        + "</a:tbl></a:graphic></p:graphicFrame>"
    )
    deck = archive({
        "ppt/presentation.xml": f'<p:presentation {P} {R}><p:sldIdLst><p:sldId id="256" r:id="r2"/>'
        '<p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": related(
            ("r1", "slide", "slides/slide1.xml"), ("r2", "slide", "/ppt/slides/slide2.xml")
        ),
        "ppt/slides/slide1.xml": slide(shape("Last", "title"), table),
        "ppt/slides/slide2.xml": slide(
            shape("First", "ctrTitle"), shape("one\ntwo", "body"), shape("free", ""),
            shape("7", "sldNum"),
        ),
        "ppt/slides/_rels/slide2.xml.rels": related(
            ("r1", "notesSlide", "../notesSlides/notesSlide1.xml")
        ),
        "ppt/notesSlides/notesSlide1.xml": slide(shape("say this", "body")),
    })  # fmt: skip
    first = "## First\n\n- one\n- two\n\nfree\n\nNotes:\n\n- say this\n\n"
    assert slides.extract(deck) == Extract(
        first + "## Last\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n",
        "",
        ((0, "slide 1"), (len(first), "slide 2")),
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('<text:h text:outline-level="2">T</text:h><text:p>one</text:p>', "## T\n\none\n"),
        ("<text:p>a<text:s text:c='3'/>b<text:tab/>c<text:line-break/>d</text:p>", "a   b\tc\nd\n"),
        (
            "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item>"
            "<text:p>deep</text:p></text:list-item></text:list></text:list-item></text:list>",
            "- one\n  - deep\n",
        ),
        (
            "<table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell>"
            "<table:table-cell><text:p>B</text:p></table:table-cell></table:table-row>"
            "</table:table>",
            "| A | B |\n| --- | --- |\n",
        ),
        (
            "<text:p>fact<text:note><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>source</text:p></text:note-body></text:note> end</text:p>",
            "fact (source) end\n",
        ),
        (
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
            "<text:section><text:p>a<office:annotation><text:p>no</text:p></office:annotation>"
            "</text:p></text:section>",
            "a\n",
        ),
    ],
)
def test_an_opendocument_text_becomes_markdown(body: str, text: str) -> None:
    content = (
        f"<office:document-content {O}><office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    assert opendocument.extract(archive({"content.xml": content})) == Extract(text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0 an encrypted one", "not a zip archive: damaged or encrypted"),
        (b"", "not a zip archive: damaged or encrypted"),
        (archive({"x.txt": ""}), "not a Word document"),
        (archive({"word/document.xml": "<w:broken"}), "word/document.xml is no well-formed XML"),
        (word_file(paragraph("x"))[:-40], "not a zip archive: damaged or encrypted"),
    ],
)
def test_what_is_no_word_document_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(Unconvertible) as caught:
        word.extract(data)
    assert str(caught.value) == reason


def test_entities_in_xml_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(Unconvertible, match=r"^declares XML entities, as an attack does$"):
        word.extract(archive({"word/document.xml": bomb}))


def test_a_zip_bomb_is_refused_by_what_it_declares() -> None:
    data = archive({"word/document.xml": " " * (INFLATED + 1)})
    assert len(data) < 100_000
    with pytest.raises(Unconvertible, match=r"^inflates to more than 50 MB$"):
        word.extract(data)


def test_a_zip_bomb_that_lies_about_its_size_is_refused_all_the_same() -> None:
    data = bytearray(archive({"word/document.xml": " " * (INFLATED + 1)}))
    at = data.rindex(b"PK\x01\x02") + 24  # the size in the central directory
    data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(Unconvertible):
        word.extract(bytes(data))


def test_many_parts_together_stay_within_the_limit() -> None:
    half = " " * (INFLATED // 2 + 1)
    file = Archive(archive({"a": half, "b": half}))
    assert len(file.read("a")) == len(half)
    with pytest.raises(Unconvertible, match=r"^inflates to more than 50 MB$"):
        file.read("b")
