"""How often a whole answer is returned: the measure, the windows it is held against, a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.spans import OVERLAP, WINDOW, main, whole, windows


def test_a_span_counts_where_one_text_has_all_of_it() -> None:
    assert whole(["to be", "or not"], ["to be, that", "or", "not"]) == 0.5
    assert whole([" to be\n"], ["not to be"]) == 1.0
    assert whole(["to be"], []) == 0.0


def test_windows_cover_the_text_and_overlap() -> None:
    words = [f"w{n:03} " for n in range(500)]
    text = "".join(words)
    found = windows(text, range(0, len(text), 5))
    starts = range(0, 500 - OVERLAP, WINDOW - OVERLAP)
    assert found == ["".join(words[start : start + WINDOW]) for start in starts]
    assert found[-1].endswith("w499 ")


@pytest.mark.parametrize("tokens", [0, 1, OVERLAP, WINDOW, WINDOW + 1])
def test_windows_of_a_short_text_are_few(tokens: int) -> None:
    text = "x" * tokens
    found = windows(text, range(tokens))
    assert found == [text[:WINDOW], text[WINDOW - OVERLAP :]][: -(-tokens // WINDOW)]


def test_a_run_compares_the_search_with_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    docs.joinpath("a.md").write_text("# Backups\n\nThe backup runs at night.\n", encoding="utf-8")
    docs.joinpath("b.md").write_text("# Birds\n\nOwls hunt mice in barns.\n", encoding="utf-8")
    query = json.dumps({"id": "1", "text": "When does the backup run?"})
    tmp_path.joinpath("queries.jsonl").write_text(query + "\n", encoding="utf-8")
    tmp_path.joinpath("qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n1\ta.md\t1\n", encoding="utf-8"
    )
    span = json.dumps({"query": "1", "doc": "a.md", "text": "The backup runs at night."})
    tmp_path.joinpath("spans.jsonl").write_text(span + "\n", encoding="utf-8")
    assert main([str(tmp_path), "--embedder", "builtin"]) == 0
    rows = [line.split()[1] for line in capsys.readouterr().out.splitlines() if "1.0000" in line]
    assert rows == ["search", "windows"]
