"""Which lines match, whatever the pattern and the text are made of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.reading import grep
from local_rag.reading.grep import spans_of

PATTERNS = [
    "a",
    "ab",
    "a+b",
    "^a",
    "b$",
    "^$",
    "^",
    "$",
    "",
    ".",
    "a|й",
    "[^a]",
    "й*",
    r"\bй",
    "🦀?b",
]


def first_in_lines(text: str, pattern: str) -> list[tuple[int, str]]:
    r"""Lines that match, from 1, and what matched first, by Python's own engine line by line.

    With ASCII's idea of a word, as RE2 has no other: `\bй` never matches.
    """
    lines = text.split("\n")[: len(text.split("\n")) - (text.endswith("\n") or not text)]
    found = ((n, re.search(pattern, line, re.ASCII)) for n, line in enumerate(lines, 1))
    return [(n, match[0]) for n, match in found if match]


@given(st.text("ab\nй🦀 ", max_size=60), st.sampled_from([p for p in PATTERNS if p]))
def test_an_expression_finds_the_first_match_of_each_line(text: str, pattern: str) -> None:
    spans = spans_of(pattern, regex=True, case_sensitive=True)
    found = [(m.line, text[m.start : m.end]) for m in grep._lines(text, spans, lambda: False)]
    assert found == first_in_lines(text, pattern)


@given(st.text("abAй🦀 .*\n", max_size=60), st.text("abй🦀.*", min_size=1, max_size=3))
def test_a_text_is_found_once_in_each_line_that_has_it(text: str, wanted: str) -> None:
    spans = spans_of(wanted, regex=False, case_sensitive=True)
    found = [(m.line, text[m.start : m.end]) for m in grep._lines(text, spans, lambda: False)]
    assert found == first_in_lines(text, re.escape(wanted))


@pytest.mark.parametrize("regex", [False, True])
def test_lines_are_counted_through_pieces(monkeypatch: pytest.MonkeyPatch, regex: bool) -> None:
    monkeypatch.setattr(grep, "PIECE_CHARS", 50)
    text = "".join(f"Ы{n} {'needle needle' if n % 7 == 0 else ''}\n" for n in range(1, 500))
    spans = spans_of("needle", regex=regex, case_sensitive=False)
    found = [m.line for m in grep._lines(text, spans, lambda: False)]
    assert found == list(range(7, 500, 7))


def test_a_single_byte_of_a_character_is_no_failure() -> None:
    spans = spans_of(r"\C", regex=True, case_sensitive=True)
    assert [m.line for m in grep._lines("й\n🦀\n", spans, lambda: False)] == [1, 2]
