"""What is embedded of a chunk: its text, and a title slot before it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from local_rag.chunking.chunks import Chunk
from local_rag.documents.document import Document
from local_rag.embedding.identity import EmbedderIdentity

LONGEST_TITLE_SLOT = 160  # characters of the title slot, spent on every chunk


@dataclass(frozen=True)
class EmbeddingInput:
    """What is embedded of one chunk: its text and the title slot before it."""

    title: str
    text: str

    def key(self, identity: EmbedderIdentity) -> bytes:
        """SHA-256 over everything that the vector depends on: 32 bytes."""
        parts = (identity.id, self.title, self.text)
        return hashlib.sha256("\0".join(parts).encode("utf-8")).digest()


def title_slot(title: str | None, headings: Sequence[str]) -> str:
    """The title slot: document title and heading trail, cut from the left if too long.

    A file's name is left out on purpose: renaming a file must not cost its embeddings.
    """
    trail = [title, *headings] if title and title not in headings[:1] else list(headings)
    slot = " > ".join(part for part in trail if part)
    return (
        slot
        if len(slot) <= LONGEST_TITLE_SLOT
        else "… " + slot[-LONGEST_TITLE_SLOT:].partition(" ")[2]
    )


def embedding_input(document: Document, chunk: Chunk) -> EmbeddingInput:
    """What is embedded of a chunk."""
    return EmbeddingInput(title_slot(document.title, chunk.headings), chunk.indexed)
