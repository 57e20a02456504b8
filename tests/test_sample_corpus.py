from __future__ import annotations

from pathlib import Path

from tools.gen_sample_corpus import documents

CORPUS = Path(__file__).resolve().parent.parent / "sample-corpus"


def test_the_committed_corpus_is_what_the_generator_writes() -> None:
    committed = {
        path.relative_to(CORPUS).as_posix(): path.read_text(encoding="utf-8")
        for path in CORPUS.rglob("*")
        if path.is_file()
    }
    assert committed == documents()
