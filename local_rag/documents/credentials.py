"""Credentials inside documents.

Our own patterns, because no maintained detector is suitable: detect-secrets reads 0.2 MB a second,
which is a hundredth of this, and has had no release since 2024. They are few on purpose, each of a
shape that almost nothing else has: a warning that is mostly wrong teaches people to ignore
it. So this is no audit; it catches what was pasted by mistake.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from local_rag.text.lines import line_starts

KEY_START = re.compile(
    # Up to where headers or data begin; a second start may share the dashes. JSON spells `\n` out.
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?(?=-----\s*(?:\\n)?())"
)
KEY_HEADER = re.compile(r"[A-Za-z-]+: ")
KEY_DATA = re.compile(r"[A-Za-z0-9+/]{16}")
BLANKS = re.compile(r"\s*")
# Each with a part that must occur and is searched first, which costs next to nothing.
TOKENS = (
    ("AWS access key", "AKIA", r"\bAKIA[A-Z2-7]{16}\b"),
    ("AWS access key", "ASIA", r"\bASIA[A-Z2-7]{16}\b"),
    ("AWS secret key", "ecret", r"(?i:aws_secret_(?:access_)?key)[\"']?\s*[=:]\s*[\"']?"
     r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"),
    ("AWS secret key", "SECRET", r"AWS_SECRET_(?:ACCESS_)?KEY[\"']?\s*[=:]\s*[\"']?"
     r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"),
    ("GitHub token", "gh", r"\bgh[pousr]_[A-Za-z0-9]{36}"),
    ("GitHub token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{59,}"),
    ("GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20}"),
    ("Slack token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("Slack webhook", "hooks.slack.com",
     r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}"),
    # Looks ahead once a run: `-eyJaaaaaaaaaa` over and over would be read to its end at each eyJ.
    ("JSON web token", "eyJ",
     r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{13,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{20})"
     r"[A-Za-z0-9_-]*?\b(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})"),
    ("Google API key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("Stripe key", "k_live_", r"\b[rs]k_live_[A-Za-z0-9]{24,}"),
    ("Anthropic key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{32,}"),
    ("OpenAI key", "sk-", r"\bsk-(?:proj-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{48}\b)"),
    ("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", "pypi-AgE", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", "hf_", r"\bhf_[A-Za-z]{34}\b"),
    ("SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("Azure storage key", "AccountKey=", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
)  # fmt: skip
_WORDS = ("pass", "passwd", "password", "passphrase", "pwd", "secret", "api_key", "apikey", "token")
WORDS = tuple(form for word in _WORDS for form in (word, word.title(), word.upper()))
# After one of the words.
VALUE = re.compile(
    r"[\"']?[ \t]*[=:][ \t]*(?:\"([^\s\"]{10,80})\"|'([^\s']{10,80})'|"
    r"([A-Za-z0-9!@%^&*+=_-]{12,80})[ \t]*$)",
    re.MULTILINE,
)
ADDRESS = re.compile(r"://[^\s:/@'\"`]{1,60}:([^\s:/@'\"`]{8,80})@")
PLACEHOLDER = re.compile(
    r"(?i)example|sample|dummy|test|fake|your|change|secret|passw|token|redact|place|insert|xxx"
    r"|\*\*\*|\.\.\.|123456|abcdef|[<>{}$()\[\]…]"
)
ENTROPY = 3.2  # bits a character: `correct-horse` has less, `j7Kd93!mQx2` more


@dataclass(frozen=True)
class Credential:
    """Something shaped like a credential, on a line (from 1) of a document's text."""

    line: int
    kind: str


def find_private_key(text: str) -> int | None:
    """The line on which a private key begins; a mere mention does not count."""
    # Headers are read once: with them in the expression, each start would read all the rest.
    headers_end = -1
    for match in KEY_START.finditer(text) if "-----BEGIN" in text else ():
        at = match.end(1)
        while not KEY_DATA.match(text, at):
            header = KEY_HEADER.match(text, at)
            if header is None or header.end() <= headers_end:
                break
            line_end = text.find("\n", header.end())
            headers_end = line_end if line_end >= 0 else len(text)
            at = _skip_blanks(text, headers_end)
        else:
            return text.count("\n", 0, match.start()) + 1
    return None


def find_credentials(text: str) -> list[Credential]:
    """Whatever in `text` is shaped like a credential, by line, once per line and kind."""
    matches = sorted({*_tokens(text), *_passwords(text)})
    if not matches:
        return []
    starts = line_starts(text)
    found = (Credential(bisect_right(starts, offset), kind) for offset, kind in matches)
    return list(dict.fromkeys(found))


def _skip_blanks(text: str, at: int) -> int:
    match = BLANKS.match(text, at)
    return match.end() if match else at


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for kind, part, pattern in TOKENS:
        if part in text:
            for match in re.finditer(pattern, text):  # compiled on first use
                token = match[match.lastindex or 0]
                if "EXAMPLE" not in token.upper():  # as in the makers' own documentation
                    yield match.start(), kind


def _passwords(text: str) -> Iterator[tuple[int, str]]:
    for word in WORDS:
        at = text.find(word)
        while at >= 0:
            at += len(word)
            match = VALUE.match(text, at)
            if match and _looks_random(match[1] or match[2] or match[3]):
                yield at, "password"
            at = text.find(word, at)
    for match in ADDRESS.finditer(text) if "://" in text else ():
        if _looks_random(match[1]):
            yield match.start(), "password in an address"


def _looks_random(value: str) -> bool:
    """Whether a value after `password =` is one, rather than a word, a variable or a path."""
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^\w.:/-]"))
    if kinds < 3 or PLACEHOLDER.search(value) or re.search(r"[.:/]\w+[.:/]|^\w+\.\w+$", value):
        return False
    counts = Counter(value).values()
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return entropy >= ENTROPY
