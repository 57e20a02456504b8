"""Decodes bytes: Unicode in its forms, then the declared encoding, then a guess with a warning."""

from __future__ import annotations

import codecs
import re

from local_rag.text.encoding_guess import guess

CONTROL_SHARE = 0.02  # of the characters; no language's text has more, every binary file does
CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\ufffd]")
ENCODING_SAMPLE = 20_000  # bytes or characters looked at for a guess
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The upper bytes of Greek, Cyrillic, Hebrew, Arabic, Thai and kana; no 8-bit text is half of one.
CONTROL_BLOCKS = (b"\x03", b"\x04", b"\x05", b"\x06", b"\x0e", b"\x30")
DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,40})")


class NotText(ValueError):
    """The bytes are not text in any encoding, or are a binary file."""


def decode(data: bytes) -> tuple[str, str | None]:
    """The text in `data`, and a warning if its encoding had to be guessed.

    Raises:
        NotText: no encoding matches, or the text is mostly control characters.
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
    control = len(CONTROL.findall(sample))
    return control <= max(1, CONTROL_SHARE * len(sample))


def _decode_known(data: bytes) -> str | None:
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark) and (text := _strictly(data, encoding)) is not None:
            return text
    if b"\x1b$" in data:  # ISO 2022 is ASCII to every other decoder
        for encoding in ("iso2022_jp_ext", "iso2022_kr"):
            text = _strictly(data, encoding)
            if text is not None and "\x1b" not in text:
                return text
    text = _strictly(data, "utf-8-sig")
    return text if text is None or _is_clean(text) else _decode_wide(data) or text


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, recognised by half or three quarters of zeros."""
    zeros = [
        data[:ENCODING_SAMPLE][at::4].count(0) * 4 / max(1, len(data[:ENCODING_SAMPLE]))
        for at in range(4)
    ]
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
    return _decode_alphabet(data)


def _decode_alphabet(data: bytes) -> str | None:
    """UTF-16 without a mark, recognised by every other byte naming the same alphabet."""
    if len(data) % 2 or len(data) < 4:
        return None
    for high, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        blocks = data[:ENCODING_SAMPLE][high::2]
        known = sum(blocks.count(block) for block in CONTROL_BLOCKS)
        text = _strictly(data, encoding) if 2 * known >= len(blocks) else None
        if text is not None and _is_clean(text) and sum(map(str.isalpha, text)) * 2 >= len(text):
            return text
    return None


def _decode_guessed(data: bytes) -> tuple[str, str]:
    if (text := _decode_wide(data)) is not None:
        return text, "encoding guessed: UTF-16 or UTF-32 without a byte order mark"
    if b"\0" in data:
        raise NotText("binary")
    if (text := _mended(data)) is not None:
        return text, f"{text.count(chr(0xFFFD))} characters are not UTF-8"
    for find in (_declared, guess):
        encoding = find(data)
        if encoding and (text := _nearly(data, encoding)) is not None:
            return text, f"encoding guessed: {encoding}"
    raise NotText("undecodable")


def _nearly(data: bytes, encoding: str) -> str | None:
    """The text, with U+FFFD in place of a few invalid bytes."""
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        return None
    return text if text.count("\ufffd") * 200 <= len(text) else None


def _mended(data: bytes) -> str | None:
    """UTF-8 with a few broken bytes, as an editor leaves when it cuts inside a letter."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(1 for c in text[: 10 * ENCODING_SAMPLE] if c > "\x7f") - broken
    return text if whole >= 20 and whole >= 20 * broken else None


def _declared(data: bytes) -> str | None:
    """The encoding that a page or an XML file declares."""
    if not data.lstrip().startswith(b"<"):
        return None
    match = DECLARED.search(data, 0, 4_000)
    return match[1].decode("ascii").lower() if match else None
