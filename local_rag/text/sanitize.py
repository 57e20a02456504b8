"""Makes text from documents and file names safe to show."""

from __future__ import annotations

import re

# C0 and C1 controls except tab and newline, bidirectional overrides and isolates (UAX #9), lone
# surrogates (they break the transport's UTF-8), and the interlinear and object marks.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffc]"
)


def safe_text(text: str) -> str:
    """`text` without characters that steer a terminal, reverse text or cannot be encoded."""
    return UNSAFE.sub("", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`text` as one safe line: line breaks and other unsafe characters are spelled out."""
    return UNSAFE.sub(
        lambda found: found[0].encode("unicode_escape").decode("ascii"), text.replace("\n", "\\n")
    )


def format_call(tool: str, **arguments: object) -> str:
    """A tool call as text, without arguments that are None."""
    given = (f"{name}={value!r}" for name, value in arguments.items() if value is not None)
    return f"{tool}({', '.join(given)})"
