"""Whether a corpus is in English, told from a sample of its files."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from local_rag.documents import NotText, parse_document
from local_rag.formats import TEXT, format_of
from local_rag.languages import guess_language
from local_rag.scan import Scan, read_version
from local_rag.settings import Settings
from local_rag.walk import Skipped

SAMPLE = 50  # files


def is_english(on_disk: Scan, settings: Settings) -> bool:
    """Whether at least half of the sample is in English, or in nothing that can be told."""
    roots = {root.name: root for root in settings.roots}
    texts = [v for v in on_disk.versions if not (format_of(v.path) or TEXT).module]
    guesses = []
    for version in islice(texts, 0, None, max(1, len(texts) // SAMPLE)):
        read = read_version(roots[version.root], version, settings.max_file_bytes)
        with suppress(NotText):
            if not isinstance(read, Skipped):
                guesses.append(guess_language(parse_document(read[1].data).text))
    return sum(guess in ("en", "") for guess in guesses) * 2 >= len(guesses)
