"""HTML, EPUB and e-mail as a reader sees them."""

from __future__ import annotations

import io
import zipfile

import pytest

from local_rag.documents.formats import eml as mail
from local_rag.documents.formats import epub
from local_rag.documents.formats import html as webpage
from local_rag.documents.formats.extract import Extract, Unconvertible
from local_rag.documents.metadata import CUT_MARK


def page(body: str) -> str:
    return webpage.parse_html(f"<html><body>{body}</body></html>").text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<h1>A <em>b</em></h1><p>one<p>two", "# A b\n\none\n\ntwo\n"),
        ("<h3>x</h3>y", "### x\n\ny\n"),
        ("<p>a<br>b</p>", "a\nb\n"),
        ("<p>&lt;tag&gt; &amp; caf&eacute; &#8364;</p>", "<tag> & café €\n"),
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>after", "- one\n- two\n  - deep\n\nafter\n"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b\n"),
        ("<pre>x = 1\n  y</pre>", "```\nx = 1\n  y\n```\n"),
        ("<p>call <code>f()</code> now</p>", "call `f()` now\n"),
        (
            "<table><tr><th>A<th>B</tr><tr><td>1<td>x|y</table>",
            "| A | B |\n| --- | --- |\n| 1 | x\\|y |\n",
        ),
        ("<table><tr><td><p>for</p><p>layout</p></td></tr></table>", "for layout\n"),
        ("<img src=x alt='A cat'>", "A cat\n"),
        ("<script>var x</script><style>p{}</style><p>seen</p>", "seen\n"),
        ("<nav><a href=/>Home</a></nav><p>seen</p>", "seen\n"),
        ("<div hidden>no</div><p style='display: none'>no</p><p>seen</p>", "seen\n"),
        ("<p># no heading</p><p>```</p>", "\\# no heading\n\n\\```\n"),
        ("<div><div>unclosed <b>and <i>crossed</b></i>", "unclosed and crossed\n"),
        ("", ""),
    ],
)
def test_a_page_becomes_what_a_reader_sees(body: str, text: str) -> None:
    assert page(body) == text


def test_title_and_metadata_are_taken_from_the_head() -> None:
    source = b"<title>A &amp; B</title><meta name=author content=Ann><body><p>x</p>"
    found = webpage.extract(source)
    assert found == Extract("x\n", "A & B", (), {"author": "Ann"})


def test_front_matter_of_a_page_is_obeyed() -> None:
    found = webpage.extract(b"---\nrag: false\ntitle: T\n---\n<p>x</p>")
    assert found == Extract("x\n", "", (), {"rag": False, "title": "T"})


def test_a_page_in_the_encoding_it_declares_is_read() -> None:
    source = '<meta charset="windows-1251"><p>Привет, мир</p>'.encode("cp1251")
    found = webpage.extract(source)
    assert found.text == "Привет, мир\n"
    assert found.warnings == ("encoding guessed: windows-1251",)


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Two Seas</dc:title>'
    "<dc:creator>Ann</dc:creator></metadata><manifest>"
    '<item id="b" href="text/b%20c.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    '</manifest><spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine>'
    "</package>"
)


def archive(parts: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text)
    return stream.getvalue()


def test_an_e_book_is_read_in_its_order_by_chapter() -> None:
    book = archive({
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": PACKAGE,
        "OPS/nav.xhtml": "<html><body><p>contents</p></body></html>",
        "OPS/text/a.xhtml": "<html><head><title>t</title></head><body><h1>North</h1>cold</body>",
        "OPS/text/b c.xhtml": "<html><body><h1>South</h1><p>warm</p></body></html>",
    })  # fmt: skip
    assert epub.extract(book) == Extract(
        "# North\n\ncold\n\n# South\n\nwarm\n",
        "Two Seas",
        ((0, "chapter 1"), (15, "chapter 2")),
        {"author": "Ann"},
    )


@pytest.mark.parametrize("data", [b"no zip", archive({"x": "y"})])
def test_what_is_no_e_book_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(Unconvertible, match=r"^not a"):
        epub.extract(data)


PLAIN = b"""\
From: Ann <ann@example.org>
To: bob@example.org
Subject: =?utf-8?b?0J/Qu9Cw0L0=?=
Date: Mon, 02 Jun 2025 10:00:00 +0200
Content-Type: text/plain; charset=koi8-r
Content-Transfer-Encoding: 8bit

""" + "Привет\nвсем\n".encode("koi8-r")


def test_a_message_shows_its_headers_and_text() -> None:
    assert mail.extract(PLAIN) == Extract(
        "From: Ann <ann@example.org>\nTo: bob@example.org\n"
        "Date: Mon, 02 Jun 2025 10:00:00 +0200\nSubject: План\n\nПривет\nвсем\n",
        "План",
        (),
        {"author": "Ann <ann@example.org>", "date": "2025-06-02T10:00:00+02:00"},
    )


def test_of_an_html_message_with_attachments_the_text_and_their_names_are_kept() -> None:
    message = (
        b"From: a@example.org\nSubject: S\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary=X\n\n--X\nContent-Type: text/html\n\n"
        b"<p>Hello <b>there</b></p>\n--X\nContent-Type: application/pdf\n"
        b"Content-Disposition: attachment; filename=plan.pdf\n\n%PDF\n--X--\n"
    )
    assert mail.extract(message).text == (
        "From: a@example.org\nSubject: S\nAttachment: plan.pdf\n\nHello there\n"
    )


@pytest.mark.parametrize(
    "message",
    [
        b"From: x\nContent-Type: text/plain; charset=nonsense\n\nbody\n",
        b"From: x\nDate: never\n\nbody\n",
        b"From: x\nContent-Type: multipart/mixed; boundary=Y\n\nbody\n",
    ],
)
def test_a_broken_message_is_read_as_far_as_it_goes(message: bytes) -> None:
    assert mail.extract(message).text.startswith("From: x\n")


def test_a_text_without_headers_is_no_message() -> None:
    with pytest.raises(Unconvertible, match=r"^not an e-mail$"):
        mail.extract(b"\njust text\n")


def test_an_alias_bomb_above_a_page_is_cut_and_still_retires_it() -> None:
    bomb = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    front = "\n".join(["---", "a0: &a0 [x]", *bomb, "lifecycle: superseded", "---"])
    found = webpage.extract(f"{front}\n<p>text".encode())
    assert (found.text, found.metadata["lifecycle"]) == ("text\n", "superseded")
    assert found.warnings == (CUT_MARK,)
    assert len(found.to_json()) < 20_000
