"""PDF by page. The files are written here, object by object."""

from __future__ import annotations

import pytest

from local_rag.documents.formats import pdf
from local_rag.documents.formats.extract import Extract, Unconvertible


def pdf_file(*pages: str, title: str = "", tail: str = "") -> bytes:
    """A PDF that shows each line of each page's text."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        shown = " T* ".join(f"({line}) Tj" for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 50 700 Td {shown} ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800]"
            f" /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) /Author (Ann) >>")
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
    end += f"<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R {tail} >>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


def test_text_is_labelled_by_page_and_empty_pages_are_counted() -> None:
    data = pdf_file("First line\nsecond line", "", "On page three", title="Zebra report")
    assert pdf.extract(data) == Extract(
        "First line\nsecond line\n\nOn page three\n",
        "Zebra report",
        ((0, "page 1"), (24, "page 3")),
        {"author": "Ann"},
    )


@pytest.mark.parametrize("title", ["", "Microsoft Word - plan.docx", "untitled"])
def test_a_title_that_a_program_made_up_is_none(title: str) -> None:
    assert pdf.extract(pdf_file("x", title=title)).title == ""


def test_a_scan_says_that_it_has_no_text() -> None:
    with pytest.raises(Unconvertible, match=r"^holds no text: its pages are pictures$"):
        pdf.extract(pdf_file(""))


def test_a_protected_file_says_so() -> None:
    key = "00" * 32
    tail = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<00> <00>]"
    with pytest.raises(Unconvertible, match=r"^protected by a password$"):
        pdf.extract(pdf_file("x", tail=tail))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"no pdf at all"])
def test_a_damaged_file_says_so(data: bytes) -> None:
    with pytest.raises(Unconvertible, match=r"^damaged: "):
        pdf.extract(data)
