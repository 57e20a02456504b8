"""Which embedder a run uses, and whether its vectors still match those that are stored."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import islice

from local_rag.corpus.scan import Scan, read_version
from local_rag.corpus.skipped import SkippedFile
from local_rag.documents.document import document_if_readable
from local_rag.documents.formats.registry import TEXT, format_of
from local_rag.embedding.canary import CANARY, SAME_EMBEDDER, canary_vector, similarity
from local_rag.embedding.choice import EmbedderChoice, choose_for_existing, choose_for_new
from local_rag.errors import EmbedderAway, TextRejected
from local_rag.index.snapshots import Snapshot
from local_rag.ingest.base_snapshot import BaseSnapshot
from local_rag.ingest.embedding_cache import EmbeddingCache
from local_rag.settings import Settings
from local_rag.text.language import may_be_written_in

log = logging.getLogger(__name__)
LANGUAGE_SAMPLE = 50  # files
NO_LONGER_MATCHES = "The embedder's vectors no longer match this index. Run ingest.py --rebuild."


@dataclass(frozen=True)
class CheckedEmbedder:
    """The embedder after a look at its vectors. `reference` is its vector of the known sentence.

    `has_changed` says that no vector made earlier may be used any more.
    """

    choice: EmbedderChoice
    reference: tuple[float, ...] = ()
    has_changed: bool = False


def choose_embedder(
    settings: Settings, base: BaseSnapshot, on_disk: Scan, *, rebuild: bool
) -> EmbedderChoice:
    """The store's own embedder, or the one for a new store or a rebuild.

    Raises:
        EmbedderAway: a new index needs it, and it is away.
    """
    if base.identity and not rebuild:
        return choose_for_existing(settings, base.identity)
    return choose_for_new(settings, lambda: is_english(on_disk, settings), base.identity)


def check_embedder(
    choice: EmbedderChoice, start: Snapshot | None, cache: EmbeddingCache
) -> CheckedEmbedder:
    """Compares its vector of a known sentence with the stored one: no index mixes two kinds.

    An index that is built from nothing takes a changed embedder; then the cache is cleared.
    """
    if choice.embedder is None:
        return CheckedEmbedder(choice)
    try:
        now = canary_vector(choice.embedder)
    except (EmbedderAway, TextRejected) as error:
        return CheckedEmbedder(replace(choice, embedder=None, away=str(error)))
    key = CANARY.key(choice.identity)
    then = start.manifest.reference if start else cache.get([key]).get(key)
    has_changed = then is not None and len(then) > 0 and similarity(now, then) < SAME_EMBEDDER
    if has_changed and start:
        return CheckedEmbedder(replace(choice, embedder=None, away=NO_LONGER_MATCHES))
    if has_changed:
        log.warning("the embedder has changed: its earlier vectors are discarded")
        cache.clear()
    cache.put({key: now})
    return CheckedEmbedder(choice, tuple(float(x) for x in now), has_changed)


def is_english(on_disk: Scan, settings: Settings) -> bool:
    """Whether at least half of a sample is in English, or in no language that can be told."""
    roots = {root.name: root for root in settings.roots}
    texts = [v for v in on_disk.versions if not (format_of(v.path) or TEXT).module]
    guesses = []
    for version in islice(texts, 0, None, max(1, len(texts) // LANGUAGE_SAMPLE)):
        read = read_version(roots[version.root], version, settings.max_file_bytes)
        document = None if isinstance(read, SkippedFile) else document_if_readable(read[1].data)
        if document:
            guesses.append(may_be_written_in(document.text, "en"))
    return sum(guesses) * 2 >= len(guesses)
