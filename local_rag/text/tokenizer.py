"""Turns text into index terms, the same way for documents and queries. Pure.

A word gives `stems`, which find its other forms and an identifier's parts, and `exact` terms, which
find it as written and an identifier as a whole. Scripts without blanks give pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from local_rag.text.language import is_stop_word, word_language
from local_rag.text.stemming import LONGEST_TERM, _stem, folded

LONGEST_RUN = 8  # characters; a shorter run of text without blanks is also a term as a whole
CACHED = 1 << 16  # words whose terms are cached: the pure-Python stemmers are slow
# Scripts written without blanks between words, and Hangul, whose words carry their particles.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003134f"
)
# Marks that belong to the letter before them, which `\w` leaves out.
COMBINING_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0970-\u0df3\u0e31-\u0e4e\u0eb1-\u0ece"
    r"\u0f18-\u0fbc\u102b-\u109d\u17b4-\u17d3\u1dc0-\u1dff\u20d0-\u20f0\u302a-\u302f\u3099\u309a"
)
# Unicode's limit for a stream of text. NFKC sorts the marks of a letter: 80,000 took 6 s.
LONGEST_MARKS = 30
MARKS_TOO_MANY = re.compile(
    rf"([{COMBINING_MARKS}\u1ab0-\u1aff\ufe20-\ufe2f]{{{LONGEST_MARKS}}})"
    rf"[{COMBINING_MARKS}\u1ab0-\u1aff\ufe20-\ufe2f]+"
)
WORD = rf"[\w{COMBINING_MARKS}]+"
TOKEN = re.compile(
    r"(?:(?<![\w.])\.(?=[A-Za-z]))?"  # .NET
    rf"{WORD}(?:(?:[-.:/\\@]|://|::|:\\|(?<=\d),(?=\d)){WORD}){{0,20}}"
    r"(?:\+\+|\#(?!\w))?"  # C++, C#
)
BETWEEN = re.compile(rf"(?:[^\w{COMBINING_MARKS}]|_)+")
RUN = re.compile(rf"[{UNSPACED}{COMBINING_MARKS}]+|[^{UNSPACED}]+")
UNSPACED_START = re.compile(rf"[{UNSPACED}]")
ENCLITIC = re.compile(r"\b[A-Za-z]['’](?=\w)|(?<=\w)['’](?:[A-Za-z]|ll|re|ve)\b")  # l'eau, Ann's
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")
HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
PIECES = re.compile(r"[/\\@:,]+")  # an address or a path falls apart into these
# getUserID, HTTPServer; sha256 and 10GB fall apart too, 0x7f and hashes don't.
CAMEL = re.compile(r"(?<=[^\W\d_A-ZА-ЯЁ])(?=[A-ZА-ЯЁ])|(?<=[A-ZА-ЯЁ])(?=[A-ZА-ЯЁ][a-zа-яё])")
LETTERS_DIGITS = re.compile(r"([^\W\d]+)(\d+)|(\d+)([^\W\d]+)")
INVISIBLE = dict.fromkeys(
    (0xAD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F),
     *range(0x2066, 0x206A))
)  # fmt: skip


@dataclass(frozen=True)
class Word:
    """The terms of one word, identifier or run of characters.

    `whole` is the word as written, if that is a term; `plain` is the same without accents; `also`
    are exact terms for documents only; `stems` are its parts in order.
    """

    whole: str
    plain: str
    stems: tuple[str, ...]
    also: tuple[str, ...] = ()
    stop: bool = False
    run: bool = False

    @property
    def exact(self) -> tuple[str, ...]:
        """A document's exact terms."""
        return tuple(filter(None, dict.fromkeys((self.whole, self.plain, *self.also))))

    @property
    def identifier(self) -> bool:
        """Whether the whole means more than its parts. Prose may hyphenate: `two-dimensional`."""
        if self.run or HYPHENATED.fullmatch(self.plain):
            return False
        return len(self.stems) > 1 or bool(BETWEEN.search(self.plain))


def words(text: str, language: str) -> Iterator[Word]:
    """The words of a text in order, with repetitions."""
    sortable = MARKS_TOO_MANY.sub(r"\1", text)
    readable = unicodedata.normalize("NFKC", sortable).translate(INVISIBLE)
    for match in TOKEN.finditer(ENCLITIC.sub(" ", readable)):
        yield from _words(match[0], language)


def telling_words(text: str, language: str) -> list[Word]:
    """The distinct words of a query in order, without stop words unless there is nothing else."""
    every = list(dict.fromkeys(words(text, language)))
    return [word for word in every if not word.stop] or every


@lru_cache(maxsize=CACHED)
def _words(token: str, language: str) -> tuple[Word, ...]:
    runs = RUN.findall(token) if UNSPACED_START.search(token) else [token]
    found = [
        _unspaced(run) if UNSPACED_START.match(run) else _identifier(run, language)
        for run in runs
        if re.search(r"\w", run)
    ]
    return tuple(word for word in found if word.stems)


def _unspaced(run: str) -> Word:
    """Pairs of characters, and the last character alone, as no pair starts with it."""
    pairs = tuple(a + b for a, b in pairwise(run)) or (run,)
    whole = run if len(run) <= LONGEST_RUN else ""
    return Word(whole, whole, pairs, (run[-1],), run=True)


def _identifier(token: str, language: str) -> Word:
    parts = [part for piece in BETWEEN.split(token) for part in _parts(piece)]
    stems = tuple(stem for part in parts if (stem := _stem(part, language)))
    whole = THOUSANDS.sub(lambda m: m[0].replace(",", ""), token.lower()[:LONGEST_TERM])
    plain = folded(whole)
    pieces = tuple(piece for piece in PIECES.split(plain) if piece not in ("", plain))
    lower = parts[0].lower() if len(parts) == 1 else ""
    stop = bool(lower) and is_stop_word(lower, word_language(lower[0], language))
    return Word(whole, plain, stems, pieces, stop)


def _parts(piece: str) -> list[str]:
    if len(piece) > LONGEST_TERM:
        return [piece]
    parts = []
    for part in CAMEL.split(piece):
        match = LETTERS_DIGITS.fullmatch(part)
        parts += [group for group in match.groups() if group] if match else [part]
    return [part for part in parts if part]
