"""PDF to text, labelled by page. Pictures of text, as scanners make them, are not read."""

from __future__ import annotations

import io

from local_rag.documents.formats.extract import Extract, NoText, Pages, Unconvertible

MOST_PAGES = 5_000
GENERATED = ("microsoft word", "untitled", "powerpoint", "document", "slide 1")


def extract(data: bytes) -> Extract:
    """The text of a PDF that opens without a password."""
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Unconvertible("protected by a password")
        count = len(reader.pages)
    except DependencyError as error:
        raise Unconvertible("encrypted") from error
    except PyPdfError as error:
        raise Unconvertible(f"damaged: {error}") from error
    if count > MOST_PAGES:
        raise Unconvertible(f"has more than {MOST_PAGES} pages")
    pages = Pages()
    for number, page in enumerate(reader.pages, 1):
        pages.add(f"page {number}", page.extract_text())
    info = reader.metadata
    found = pages.extract(_title(info.title if info else None), _metadata(reader))
    if not found.text:
        raise NoText("holds no text: its pages are pictures")
    return found


def _title(title: object) -> str:
    """The title in the file's properties, unless a program put one there by itself."""
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return "" if text.lower().startswith(GENERATED) else text


def _metadata(reader: object) -> dict[str, str]:
    info = getattr(reader, "metadata", None)
    try:
        author, updated = info.author, info.modification_date or info.creation_date  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # a date that is none
        return {}
    found = {"author": author, "updated": updated.isoformat() if updated else None}
    return {key: str(value) for key, value in found.items() if value}
