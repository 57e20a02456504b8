from __future__ import annotations

from local_rag.settings import PROJECT_DIR
from tools.gen_sample_corpus import documents

CORPUS = PROJECT_DIR / "sample-corpus"


def test_the_committed_corpus_is_what_the_generator_writes() -> None:
    committed = {
        path.relative_to(CORPUS).as_posix(): path.read_text(encoding="utf-8")
        for path in CORPUS.rglob("*")
        if path.is_file()
    }
    assert committed == documents()
