"""Guesses the encoding of old text that declares none, by how it uses letters.

It knows the encodings of people's old files and gets short notes right. charset-normalizer is asked
only for the rest: it guesses wildly on short notes (`Привет, мир` in cp1251 is Turkish to it,
`Straße café` in cp1252 is Urdu).
"""

from __future__ import annotations

import re
from itertools import groupby

import charset_normalizer

GUESS_SAMPLE = 20_000  # bytes looked at
SHORT_TEXT = 8  # characters: any two bytes are some character of East Asia
SURE = 0.6  # the mean weight of a text's letters above which our guess is kept
# By encoding: its alphabet, and the letters that make up most of any text in it.
_CYRILLIC = (frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ"), frozenset("оеаинтсрвлкмдпуяі"))
_GREEK = (frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"), frozenset("αοιετσηνρυπκμλς"))
_HEBREW = (frozenset("אבגדהוזחטיכלמנסעפצקרשתםןךףץ"), frozenset("יוהלאתרמשבנםכעד"))
FINAL_INSIDE = re.compile(r"[םןךףץ]\w")  # letters that end a word of Hebrew
GREEK_ACCENT = re.compile(r"[άέήίόύώϊϋΐΰΆΈΉΊΌΎΏ]")
# The likelier first: it wins a tie.
ALPHABETS = {
    "cp1251": _CYRILLIC, "koi8_r": _CYRILLIC, "cp1253": _GREEK, "cp1255": _HEBREW,
    "cp866": _CYRILLIC, "iso8859_5": _CYRILLIC, "mac_cyrillic": _CYRILLIC,
}  # fmt: skip
# By language, so that a letter only counts beside letters of the same language.
_WESTERN = ("äöüß", "éèàçùêâîôûëïœæ", "ñáéíóúü", "ãõçáéíóúâêôà", "åäöæøé", "àèéìòùî", "ëïéöèü")
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľôŕ", "áéíóöőúüű", "čćđšž", "ăâîşţ")
LATIN = {
    "cp1252": _WESTERN, "cp1250": _CENTRAL, "iso8859_2": _CENTRAL,
    "cp1254": ("çğıöşüâîû",), "mac_roman": _WESTERN,
}  # fmt: skip
TYPOGRAPHY = frozenset("“”„‘’‚–—…«»°·•§©®™€£¿¡\u00a0")
INSIDE_WORDS = re.compile(
    r"(?<=[^\W\d_])[“”„‚—…«»°·•§©®™€£¿¡](?=[^\W\d_])"
)  # no word has one of these
# Signs of Western encodings, where they stand as only a sign does: `ł` ends `był`, no `12 m³`, and
# `mł.` is short for a Polish rank.
TELLING_SIGNS = re.compile(
    r"(?<![^\W\d_])(?:[kcdµm]?m²|[kcdµm]m³|(?<=\d)m³|(?<=\d )m³|m³(?!\.))(?![^\W_])"
    r"|(?<![^\W\d_])[¼½¾](?![^\W\d_])|(?<![^\W\d_])µ[AFglmsVW]?(?![^\W_])|(?<=\d)\s?×\s?(?=\d)"
)
SIGNED = ("cp1252", "cp1254")  # have these signs
# With the range of lead bytes of the characters in daily use.
EAST_ASIAN = {"cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF), "euc_kr": (0xB0, 0xC8),
              "gb2312": (0xB0, 0xD7), "gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6)}  # fmt: skip
# Characters that occur in nearly any text.
FREQUENT = frozenset(
    "的一是不了在人有我他这個个们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而子那得"
    "于於着下自之年过過发發后後作里用道行所然家种事成方多经經么去法学學如都同现現当當没動动面起看定天分"
    "还還进進好小部其些主样樣理心本前开開但因只从從想实實日今"
    "이다는을에의가고하지도한로있사기어나리은아서를들시자해정보니인수그안녕회"
)
# The only encodings charset-normalizer may answer; else a short note is Urdu or EBCDIC to it.
COMMON_ENCODINGS = (
    *ALPHABETS, *LATIN, *EAST_ASIAN, "koi8_u", "cp1256", "cp1257", "cp1258", "iso8859_15", "cp850",
    "cp437", "cp852", "cp874", "johab", "big5hkscs",
)  # fmt: skip
BETWEEN_WORDS = 0.9  # where East Asia stands in a tie: after frequent letters, before rare ones
Weight = tuple[float, float]
"""How much letters look like words, 1 at most; and what decides a tie."""


def guess(data: bytes) -> str | None:
    """The likeliest encoding of a text with bytes beyond ASCII, or None."""
    sample = data[:GUESS_SAMPLE]
    found = _typographic(sample) or _by_letters(sample) or _latin(sample)
    if found:
        return found
    best = charset_normalizer.from_bytes(data, cp_isolation=list(COMMON_ENCODINGS)).best()
    return best.encoding if best else None


def _typographic(data: bytes) -> str | None:
    """Windows' Latin encoding, where all that is not ASCII are lone signs such as € or a dash."""
    text = TELLING_SIGNS.sub(" ", data.decode("cp1252", "replace"))
    runs = ["".join(run) for odd, run in groupby(text, lambda c: c > "\x7f") if odd]
    lone = all(len(run) == 1 and run in TYPOGRAPHY for run in runs)
    return "cp1252" if lone and not INSIDE_WORDS.search(text) else None


def _by_letters(data: bytes) -> str | None:
    """The encoding of a non-Latin alphabet in which the letters make words, if any."""
    weights = {name: _in_alphabet(data.decode(name, "replace"), name) for name in ALPHABETS}
    weights |= {name: _in_east_asia(data.decode(name, "replace"), name) for name in EAST_ASIAN}
    best = max(weights, key=weights.__getitem__)
    weight, tie = weights[best]
    if weight < SURE:
        return None
    if (
        best in EAST_ASIAN
        and tie == BETWEEN_WORDS
        and len(data.decode(best, "replace")) < SHORT_TEXT
    ):
        return _latin(data) or best
    return best


def _in_alphabet(text: str, encoding: str) -> Weight:
    letters = [c for c in text if c > "\x7f"]
    if not letters:
        return 0.0, 0.0
    alphabet, frequent = ALPHABETS[encoding]
    words = re.findall(r"[^\W\d_]+", text)
    words = [w for w in words if not w.isascii() and _is_plain_case(w)]
    fits = sum(
        len(w) for w in words if alphabet.issuperset(w.lower()) and not FINAL_INSIDE.search(w)
    )
    share = sum(c.lower() in frequent for c in letters) / len(letters)
    small = sum(c == c.lower() for c in letters) / len(letters)
    if alphabet is _GREEK[0] and small > 0.5 and not GREEK_ACCENT.search(text):
        share /= 2  # nearly every word of Greek has an accent
    return (2 * fits - len(letters)) / len(letters) * min(1.0, share / 0.7), share + small / 2


def _is_plain_case(word: str) -> bool:
    """Whether no upper-case letter follows a lower-case one."""
    return word[1:] == word[1:].lower() or word.isupper()


def _in_east_asia(text: str, encoding: str) -> Weight:
    letters = [c for c in text if c > "\x7f"]
    if not letters:
        return 0.0, 0.0
    low, high = EAST_ASIAN[encoding]
    kana = sum("\u3041" <= c <= "\u30fe" for c in letters)
    hangul = sum("\uac00" <= c <= "\ud7a3" for c in letters)
    codes = [c.encode(encoding, "replace") for c in letters if c >= "\u4e00"]
    # GB 18030 files its rare characters under second bytes that older encodings leave to ASCII.
    common = sum(
        low <= code[0] <= high and not (encoding == "gb18030" and code[-1] < 0xA1) for code in codes
    )
    marks = sum(c in "\u3000\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff08\uff09" for c in letters)
    fits = {
        "cp932": kana + common, "euc_jp": kana and kana + common,
        "euc_kr": hangul if hangul > 0.8 * (len(letters) - marks) else 0,
    }.get(encoding, common if not kana else 0) + marks  # fmt: skip
    # `señor` is not a word with one Chinese character in it.
    fits -= 2 * len(re.findall(r"(?<=[A-Za-z])[\u3041-\ud7a3](?=[A-Za-z])|\b[\u3400-\ud7a3][A-Z]{2}"
                               r"|[a-z]{2}[\u3400-\ud7a3]\b", text))  # fmt: skip
    frequent = (kana + sum(c in FREQUENT for c in letters)) / len(letters)
    return (2 * fits - len(letters)) / len(letters), BETWEEN_WORDS + frequent


def _latin(data: bytes) -> str | None:
    """The Latin encoding in which nearly all accented letters are those of one language.

    In a text in several languages, at least within each word.
    """
    by_text = {name: _latin_share(data, name, by_word=False) for name in LATIN}
    by_word = {name: _latin_share(data, name, by_word=True) for name in LATIN}
    for shares in (by_text, by_word):
        likeliest = max(shares, key=shares.__getitem__)
        if shares[likeliest] >= 0.97:
            return likeliest
    return None


def _latin_share(data: bytes, encoding: str, *, by_word: bool) -> float:
    text = data.decode(encoding, "replace")
    text = TELLING_SIGNS.sub(" ", text) if encoding in SIGNED else text
    odd = [c for c in text if c > "\x7f" and c not in TYPOGRAPHY]
    wrong = len(INSIDE_WORDS.findall(text))
    if not odd:
        return float(encoding == "cp1252" and not wrong)
    words = re.findall(r"[^\W\d_]+", text)
    good = [w.replace("İ", "ı").lower() for w in words if not w.isascii() and _is_plain_case(w)]
    parts = good if by_word else ["".join(good)]
    languages = LATIN[encoding]
    fits = sum(max(sum(c in letters for c in part) for letters in languages) for part in parts)
    fits -= wrong
    return fits / len(odd)
