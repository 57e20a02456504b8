"""Bytes to text: Unicode in its forms, then what the file declares, then a guess with a warning.

The guess looks at how letters are used in the encodings that people's old files are in, and asks
charset-normalizer only for the rest: that takes a short note for anything (`Привет, мир` in cp1251
for Turkish, `señor` for Polish). Leaves out what the text means.
"""

from __future__ import annotations

import codecs
import re

import charset_normalizer

CONTROL_SHARE = 0.02  # of the characters; text in no language has more, every binary file does
SAMPLE = 20_000  # bytes or characters looked at for a guess
SURE = 0.6  # the mean weight of a text's letters from which a guess of ours stands
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,40})")
# For each encoding the alphabet it is for, and the letters that make up most of any text in it.
_CYRILLIC = (frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ"), frozenset("оеаинтсрвлкмдпуяі"))
_GREEK = (frozenset("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ"), frozenset("αοιετσηνρυπκμλς"))
_HEBREW = (frozenset("אבגדהוזחטיכלמנסעפצקרשתםןךףץ"), frozenset("יוהלאתרמשבנםכ"))
ALPHABETS = {
    "cp1251": _CYRILLIC, "koi8_r": _CYRILLIC, "cp866": _CYRILLIC, "iso8859_5": _CYRILLIC,
    "mac_cyrillic": _CYRILLIC, "cp1253": _GREEK, "cp1255": _HEBREW,
}  # fmt: skip
# By language, so that a letter only counts among those that it stands beside.
_WESTERN = ("äöüß", "éèàçùêâîôûëïœæ", "ñáéíóúü", "ãõçáéíóúâêôà", "åäöæøé", "àèéìòùî", "ëïéöèü")
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľôŕ", "áéíóöőúüű", "čćđšž", "ăâîşţ")
LATIN = {
    "cp1252": _WESTERN, "cp1250": _CENTRAL, "iso8859_2": _CENTRAL,
    "cp1254": ("çğıöşüâîû",), "mac_roman": _WESTERN,
}  # fmt: skip
TYPOGRAPHY = frozenset("“”„‘’‚–—…«»°·•§©®™€£¿¡\u00a0")
# Twins of likelier encodings but for a few letters, in which next to nobody wrote notes.
UNLIKELY = ["iso8859_10", "iso8859_14", "iso8859_16", "iso8859_3", "cp1125", "hp_roman8"]
# With the range of lead bytes that hold the characters in daily use.
EAST_ASIAN = {"cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF), "euc_kr": (0xB0, 0xC8),
              "gb2312": (0xB0, 0xD7), "gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6)}  # fmt: skip
CANDIDATES = (*EAST_ASIAN, *ALPHABETS)


class NotText(ValueError):
    """The bytes are no text in any encoding, or are a binary file."""


def decode(data: bytes) -> tuple[str, str | None]:
    """The text in `data`, and a warning where its encoding had to be guessed.

    Raises:
        NotText: no encoding fits, or the text is mostly control characters.
    """
    text, warning = _decode_known(data), None
    if text is None:
        text, warning = _decode_guessed(data)
    if not _is_clean(text):
        raise NotText("binary")
    if "\n" not in text:  # a file of the old Mac
        text = text.replace("\r", "\n")
    return text, warning


def _is_clean(text: str) -> bool:
    sample = text[:200_000]
    control = sum(1 for c in sample if (c < " " and c not in "\t\n\r\f\x1b") or c == "\ufffd")
    return control <= max(1, CONTROL_SHARE * len(sample))


def _decode_known(data: bytes) -> str | None:
    for mark, encoding in MARKS:
        if data.startswith(mark) and (text := _strictly(data, encoding)) is not None:
            return text
    if b"\x1b$" in data:  # ISO 2022 is ASCII to every other decoder
        for encoding in ("iso2022_jp_ext", "iso2022_kr"):
            text = _strictly(data, encoding)
            if text is not None and "\x1b" not in text:
                return text
    text = _strictly(data, "utf-8-sig")
    return text if text is None or "\0" not in text else _decode_wide(data) or text


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, which half or three quarters zeros give away."""
    zeros = [data[:SAMPLE][at::4].count(0) * 4 / max(1, len(data[:SAMPLE])) for at in range(4)]
    for encoding, shape in (
        ("utf-32-be", (0.99, None, None, None)),
        ("utf-32-le", (None, None, None, 0.99)),
        ("utf-16-be", (0.2, 0.0, 0.2, 0.0)),
        ("utf-16-le", (0.0, 0.2, 0.0, 0.2)),
    ):
        fits = all(
            least is None or (share >= least if least else share < 0.2)
            for share, least in zip(zeros, shape, strict=True)
        )
        text = _strictly(data, encoding) if fits else None
        if text is not None and _is_clean(text):
            return text
    return None


def _decode_guessed(data: bytes) -> tuple[str, str]:
    if b"\0" in data:
        text = _decode_wide(data)
        if text is None:
            raise NotText("binary")
        return text, "encoding guessed: UTF-16 or UTF-32 without a byte order mark"
    if (text := _mended(data)) is not None:
        return text, f"{text.count(chr(0xFFFD))} characters are not UTF-8"
    for guess in (_declared, _by_letters, _latin):
        encoding = guess(data)
        if encoding and (text := _nearly(data, encoding)) is not None:
            return text, f"encoding guessed: {encoding}"
    best = charset_normalizer.from_bytes(data, cp_exclusion=UNLIKELY).best()
    if best is None:
        raise NotText("undecodable")
    return str(best), f"encoding guessed: {best.encoding}"


def _nearly(data: bytes, encoding: str) -> str | None:
    """The text, with a mark in place of the odd byte that does not fit."""
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        return None
    return text if text.count("\ufffd") * 200 <= len(text) else None


def _mended(data: bytes) -> str | None:
    """UTF-8 with a few broken bytes, as an editor leaves that cuts in the middle of a letter."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for c in text[: 10 * SAMPLE] if c > "\x7f") - broken
    return text if whole >= 20 and whole >= 20 * broken else None


def _declared(data: bytes) -> str | None:
    """The encoding that a page or an XML file names for itself."""
    if not data.lstrip().startswith(b"<"):
        return None
    match = DECLARED.search(data, 0, 4_000)
    return match[1].decode("ascii").lower() if match else None


def _by_letters(data: bytes) -> str | None:
    """The encoding of another alphabet in which the letters make words, if there is one."""
    weights = {name: _weight(data[:SAMPLE].decode(name, "replace"), name) for name in CANDIDATES}
    best = max(weights, key=weights.__getitem__)
    return best if weights[best] >= SURE else None


def _weight(text: str, encoding: str) -> float:
    """How much the letters beyond ASCII look like words in `encoding`: 1 at most."""
    letters = [c for c in text if c > "\x7f"]
    if not letters:
        return 0.0
    if encoding in ALPHABETS:
        alphabet, frequent = ALPHABETS[encoding]
        words = re.findall(r"[^\W\d_]+", text)
        words = [w for w in words if not w.isascii() and (w[1:] == w[1:].lower() or w.isupper())]
        fits = sum(len(w) for w in words if alphabet.issuperset(w.lower()))
        share = sum(c.lower() in frequent for c in letters) / len(letters)
        return (2 * fits - len(letters)) / len(letters) * min(1.0, share / 0.7)
    low, high = EAST_ASIAN[encoding]
    kana = sum("\u3041" <= c <= "\u30fe" for c in letters)
    hangul = sum("\uac00" <= c <= "\ud7a3" for c in letters)
    common = sum(low <= c.encode(encoding, "replace")[0] <= high for c in letters if c >= "\u4e00")
    marks = sum(c in "\u3000\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff08\uff09" for c in letters)
    fits = {
        "cp932": kana + common, "euc_jp": kana and kana + common,
        "euc_kr": hangul if hangul > 0.8 * (len(letters) - marks) else 0,
    }.get(encoding, common if not kana else 0) + marks  # fmt: skip
    return (2 * fits - len(letters)) / len(letters)


def _latin(data: bytes) -> str | None:
    """The Latin encoding in which nearly all accented letters are those of one language."""
    shares = {}
    for encoding, languages in LATIN.items():
        text = data[:SAMPLE].decode(encoding, "replace").replace("İ", "ı").lower()
        accented = [c for c in text if c > "\x7f" and c not in TYPOGRAPHY]
        best = max(sum(c in letters for c in accented) for letters in languages)
        shares[encoding] = best / len(accented) if accented else float(encoding == "cp1252")
    likeliest = max(shares, key=shares.__getitem__)
    return likeliest if shares[likeliest] >= 0.97 else None
