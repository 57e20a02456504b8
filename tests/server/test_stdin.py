from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.server.stdin import repaired


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r'{"q": "\ud800"}', r'{"q": "\ufffd"}'),
        (r'{"q": "\uDC00x"}', r'{"q": "\ufffdx"}'),
        (r'{"q": "\ud83d\ude00"}', r'{"q": "\ud83d\ude00"}'),
        (r'{"q": "\ud83d\ud83d\ude00"}', r'{"q": "\ufffd\ud83d\ude00"}'),
        (r'{"q": "\\ud800"}', r'{"q": "\\ud800"}'),
        (r'{"q": "\\\ud800"}', r'{"q": "\\\ufffd"}'),
    ],
)
def test_only_a_lone_surrogate_escape_is_replaced(line: str, expected: str) -> None:
    assert repaired(line) == expected


@given(st.text(st.characters(codec="utf-8")))
def test_valid_text_passes_unchanged(text: str) -> None:
    assert json.loads(repaired(json.dumps(text))) == text


@given(st.text(st.characters(categories=["Cs", "Lu"])))
def test_what_comes_out_is_always_unicode(text: str) -> None:
    json.loads(repaired(json.dumps(text))).encode("utf-8")
