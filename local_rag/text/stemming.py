"""Folds words to lower case without accents, and reduces them to Snowball stems. Pure."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache

import snowballstemmer

from local_rag.text.language import SNOWBALL, word_language

LONGEST_TERM = 128  # characters of a term; a longer word is indexed by its beginning
PLAIN = str.maketrans({
    "\u2010": "-", "\u200b": " ", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe",
    "ß": "ss", "ð": "d", "þ": "th",
})  # fmt: skip
# Accents of Latin, Greek and Cyrillic letters, and the vowel points that readers leave out.
ACCENTS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670\u0640]+")


def folded(word: str) -> str:
    """`word` in lower case without accents; й stays, being a letter of its own."""
    decomposed = unicodedata.normalize("NFKD", word.lower().replace("й", "\0"))
    plain = ACCENTS.sub("", decomposed).replace("\0", "й")
    return unicodedata.normalize("NFC", plain.translate(PLAIN))


def _stem(part: str, language: str) -> str:
    """The folded stem. The stemmer comes first: it knows letters by their accents."""
    lower = part.lower()
    algorithm = SNOWBALL.get(word_language(lower[0], language), "")
    if algorithm and len(lower) <= LONGEST_TERM:
        with _stemming:
            lower = _stemmer(algorithm).stemWord(lower)
    return folded(lower)[:LONGEST_TERM]


_stemming = threading.Lock()  # a stemmer keeps the word it works on in itself
_stemmer = cache(snowballstemmer.stemmer)
