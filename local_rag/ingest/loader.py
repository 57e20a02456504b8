"""Reads a planned file and turns it into chunks, or into the reason why it is not indexed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from local_rag.chunking.chunks import chunk_document
from local_rag.corpus.scan import FileVersion, read_version
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.documents.credentials import Credential, find_credentials, find_private_key
from local_rag.documents.document import Document, document_from_extract, parse_document
from local_rag.documents.formats.converter import Converter
from local_rag.documents.formats.extract import LibraryMissing, NoText, Unconvertible
from local_rag.documents.formats.registry import TEXT, format_of
from local_rag.embedding.base import Sizing
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.ingest.embed import PreparedFile, keyed
from local_rag.ingest.plan import PlannedFile
from local_rag.settings import Secrets, Settings
from local_rag.text.encoding import NotText

log = logging.getLogger(__name__)
EXCLUDED = "excluded by rag: false"
MOST_CREDENTIALS = 20  # credentials named of one document; a file full of them has made its point


@dataclass(frozen=True)
class RejectedFile:
    """A planned file that is not indexed. If it was `read`, nothing of it may stay indexed."""

    todo: PlannedFile
    skipped: SkippedFile
    read: bool


class FilePreparer:
    """Prepares planned files for an index of one embedder. Close it.

    Each file is read again: the scan cannot keep the bytes of a whole corpus in memory.
    """

    def __init__(self, settings: Settings, sizing: Sizing, identity: EmbedderIdentity) -> None:
        self._settings, self._sizing, self._identity = settings, sizing, identity
        self._roots = {root.name: root for root in settings.roots}
        self._loader = DocumentLoader(settings.max_file_bytes, settings.secrets)

    def close(self) -> None:
        """Ends the process in which files were converted."""
        self._loader.close()

    def prepare(self, todos: Sequence[PlannedFile]) -> Iterator[PreparedFile | RejectedFile]:
        """Each file in order, with its chunks or with the reason why there are none."""
        budget, token_starts = self._sizing.budget, self._sizing.token_starts
        for todo in todos:
            root = self._roots[todo.version.root]
            read = read_version(root, todo.version, self._settings.max_file_bytes)
            if isinstance(read, SkippedFile):
                yield RejectedFile(todo, read, read=False)
                continue
            version, content = read
            try:
                document = self._loader.read(version, content.data)
                if isinstance(document, SkippedFile):
                    yield RejectedFile(todo, document, read=True)
                    continue
                chunks = chunk_document(document, budget, token_starts)
            except Exception as error:
                log.debug("a file cannot be read", exc_info=True)
                yield RejectedFile(todo, _unforeseen(version, error), read=False)
                continue
            yield PreparedFile(todo, version, document, keyed(document, chunks, self._identity))


class DocumentLoader:
    """Turns bytes into documents, and keeps secrets out. Close it.

    `longest` is the maximum length of a converted text.
    """

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
            return _failed(found, error)
        if document.excluded:
            return _skipped(found, SkipKind.LEFT_OUT, EXCLUDED)
        line, credentials = find_private_key(document.text), find_credentials(document.text)
        if line is not None:
            return _skipped(found, SkipKind.SECRET, "holds a private key", f"line {line}")
        if credentials and self._secrets == "skip":
            detail = f"line {credentials[0].line}, {credentials[0].kind}"
            return _skipped(found, SkipKind.SECRET, "holds a credential", detail)
        return replace(document, warnings=(*document.warnings, *_remarks(credentials)))

    def _parsed(self, path: str, data: bytes) -> Document:
        kind = format_of(path) or TEXT
        if not kind.module:
            return parse_document(data, kind)
        return document_from_extract(self._converter.convert(kind, data), kind)


def _remarks(credentials: list[Credential]) -> list[str]:
    remarks = [f"line {c.line} looks like a secret: {c.kind}" for c in credentials]
    if len(remarks) > MOST_CREDENTIALS:
        rest = len(remarks) - MOST_CREDENTIALS
        remarks[MOST_CREDENTIALS:] = [f"{rest} more lines look like secrets"]
    return remarks


def _failed(found: FileVersion, error: NotText | Unconvertible) -> SkippedFile:
    kind = SkipKind.NO_TEXT if isinstance(error, NoText) else SkipKind.FAILED
    reason, _, detail = str(error).partition(": ")
    skipped = _skipped(found, kind, reason, detail)
    # A library can be installed without any change to the file, which must then be tried again.
    return replace(skipped, sha256="") if isinstance(error, LibraryMissing) else skipped


def _unforeseen(found: FileVersion, error: Exception) -> SkippedFile:
    """A failure that nobody planned for; its words may quote the document, so only its type."""
    skipped = _skipped(found, SkipKind.FAILED, "unexpected failure", type(error).__name__)
    return replace(skipped, sha256="")  # another version of the program may well read it


def _skipped(found: FileVersion, kind: SkipKind, reason: str, detail: str = "") -> SkippedFile:
    return SkippedFile(found.root, found.path, kind, reason, detail, found.sha256)
