from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.chunking.chunks import Chunk, chunk_document, halve
from local_rag.chunking.sizes import ChunkBudget
from local_rag.documents.document import Document
from local_rag.embedding.ollama import estimate_token_starts

BUDGET = ChunkBudget(target=30, small=8, whole=40, hard=50)
WORDS = st.sampled_from(["alpha", "beta", "gamma", "нота", "検索", "x" * 70, "a.b", "E-1042"])
LINES = st.one_of(
    st.lists(WORDS, min_size=1, max_size=12).map(" ".join),
    st.builds(lambda n, w: "#" * n + " " + w, st.integers(1, 6), WORDS),
    st.sampled_from(["", "", "```", "| a | b |", "|---|---|", "- item", "---", "===", "    code"]),
)
TEXTS = st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text(max_size=300))


def chunks_of(text: str, chunking: str = "auto", body_start: int = 0) -> list[Chunk]:
    document = Document(text, body_start=body_start, chunking=chunking)  # type: ignore[arg-type]
    return chunk_document(document, BUDGET, estimate_token_starts)


@given(TEXTS, st.sampled_from(["auto", "headings", "whole"]))
def test_chunks_cover_all_text_in_order_with_exact_lines(text: str, chunking: str) -> None:
    chunks = chunks_of(text, chunking)
    for before, after in pairwise(chunks):
        assert text[before.end : after.start].strip() == ""
    assert text[: chunks[0].start].strip() == "" if chunks else text.strip() == ""
    assert not chunks or text[chunks[-1].end :].strip() == ""
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.first_line == text[: chunk.start].count("\n") + 1
        assert chunk.last_line == text[: chunk.end].count("\n") + 1


@given(TEXTS, st.sampled_from(["auto", "headings", "whole"]))
def test_no_chunk_is_larger_than_the_embedder_takes(text: str, chunking: str) -> None:
    for chunk in chunks_of(text, chunking):
        assert len(estimate_token_starts(chunk.text)) <= BUDGET.hard


@given(st.text(min_size=2, max_size=200).filter(lambda text: len(text.strip()) > 1))
def test_halves_cover_a_chunk_and_are_smaller(text: str) -> None:
    (chunk,) = chunk_document(
        Document(text, chunking="whole"), ChunkBudget(999, 1, 999, 999), estimate_token_starts
    )
    if len(chunk.text) < 2:
        return
    halves = halve(chunk, text)
    assert max(len(half.text) for half in halves) < len(chunk.text)
    assert [c for half in halves for c in half.text if not c.isspace()] == [
        c for c in chunk.text if not c.isspace()
    ]


def test_a_single_character_cannot_be_halved() -> None:
    with pytest.raises(ValueError, match="single character"):
        halve(Chunk("x", 0, 1, 1, 1, ()), "x")


def test_a_short_document_is_one_chunk() -> None:
    assert chunks_of("# One\n\ntext\n\n# Two\n\ntext\n") == [
        Chunk("# One\n\ntext\n\n# Two\n\ntext", 0, 24, 1, 7, ())
    ]


def test_rag_chunk_headings_cuts_at_every_heading() -> None:
    chunks = chunks_of("# One\n\ntext\n\n## Sub\n\nmore\n\n# Two\n\nend\n", "headings")
    assert [(c.headings, c.first_line, c.last_line) for c in chunks] == [
        (("One",), 1, 3),
        (("One", "Sub"), 5, 7),
        (("Two",), 9, 11),
    ]


def test_small_sections_merge_under_the_trail_they_share() -> None:
    filler = "word " * 32
    text = f"# Top\n\n## A\n\nshort\n\n## B\n\nbrief\n\n## C\n\n{filler}\n"
    assert [(c.headings, c.text.split()[1]) for c in chunks_of(text)] == [
        (("Top",), "Top"),
        (("Top", "C"), "C"),
    ]


def test_a_heading_stays_with_the_text_below_it() -> None:
    text = "# Top\n\n" + "\n\n".join(["one two three four five six seven eight nine ten"] * 8)
    assert chunks_of(text)[0].text.startswith("# Top\n")
    assert all(c.text != "# Top" for c in chunks_of(text))


def test_front_matter_is_no_part_of_any_chunk() -> None:
    text = "---\ntitle: x\n---\nbody\n"
    assert chunks_of(text, body_start=17) == [Chunk("body", 17, 21, 4, 4, ())]


def test_a_hash_in_a_fence_is_no_heading() -> None:
    text = "# Top\n\n```sh\n# not a heading\n" + "line of code\n" * 40
    assert {c.headings for c in chunks_of(text)} == {("Top",)}


@pytest.mark.parametrize("text", ["", " \n\t\n", "\n" * 50])
def test_a_blank_document_has_no_chunks(text: str) -> None:
    assert chunks_of(text) == []


def test_a_long_line_is_cut_between_words() -> None:
    chunks = chunks_of("word " * 200)
    assert {c.text.split()[0] for c in chunks} == {"word"}
    assert all(c.text.endswith("word") for c in chunks)
