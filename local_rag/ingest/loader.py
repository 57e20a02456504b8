"""A file's bytes to the document to be indexed, or the reason why there is none.

Brings together what reads a format and what keeps secrets out. Leaves out which files there are
(`walk`) and what becomes of the answer (`changes`).
"""

from __future__ import annotations

from dataclasses import replace

from local_rag.corpus.scan import FileVersion
from local_rag.corpus.walk import SkippedFile
from local_rag.documents.credentials import find_credentials, find_private_key
from local_rag.documents.document import Document, document_from_extract, parse_document
from local_rag.documents.formats.converter import Converter
from local_rag.documents.formats.extract import LibraryMissing, Unconvertible
from local_rag.documents.formats.registry import TEXT, format_of
from local_rag.settings import Secrets
from local_rag.text.encoding import NotText

EXCLUDED = "asks to be left out (rag: false)"
MOST_CREDENTIALS = 20  # credentials named of one document; a file full of them has made its point


class DocumentLoader:
    """Reads files one by one. `longest` is the greatest length of a converted text. Close it."""

    def __init__(self, longest: int, secrets: Secrets) -> None:
        self._secrets = secrets
        self._converter = Converter(longest)

    def close(self) -> None:
        """Ends the process in which files were converted."""
        self._converter.close()

    def read(self, found: FileVersion, data: bytes) -> Document | SkippedFile:
        """The document in the bytes of a file, or why there is none."""
        try:
            document = self._parsed(found.path, data)
        except (NotText, Unconvertible) as error:
            known = "" if isinstance(error, LibraryMissing) else found.sha256
            return SkippedFile(found.root, found.path, str(error), wanted=True, sha256=known)
        if document.excluded:
            return SkippedFile(found.root, found.path, EXCLUDED, wanted=False, sha256=found.sha256)
        line, credentials = find_private_key(document.text), find_credentials(document.text)
        if line is not None:
            return _kept_out(found, f"holds a private key (line {line})")
        if credentials and self._secrets == "skip":
            first = credentials[0]
            reason = f"holds a credential (line {first.line}: {first.kind})"
            return _kept_out(found, reason)
        remarks = [f"line {c.line} looks like a secret: {c.kind}" for c in credentials]
        if len(remarks) > MOST_CREDENTIALS:
            remarks[MOST_CREDENTIALS:] = [
                f"{len(remarks) - MOST_CREDENTIALS} more lines look like secrets"
            ]
        return replace(document, warnings=(*document.warnings, *remarks))

    def _parsed(self, path: str, data: bytes) -> Document:
        kind = format_of(path) or TEXT
        if not kind.module:
            return parse_document(data, kind)
        return document_from_extract(self._converter.convert(kind, data), kind)


def _kept_out(found: FileVersion, reason: str) -> SkippedFile:
    return SkippedFile(
        found.root, found.path, reason, wanted=False, secret=True, sha256=found.sha256
    )
