from __future__ import annotations

from local_rag.index.catalog import ChunkRecord
from local_rag.search.fusion import Fused
from local_rag.search.passages import Passage, passages


def page_of(order: list[tuple[int, int]], limit: int = 10) -> list[Passage]:
    """The page for chunks given as (file, place in it), best first; chunks are 10 long."""
    chunks = {
        f"{file}.{place}": ChunkRecord(
            0, f"{file}.{place}", file, place * 10, place * 10 + 9, place * 2, place * 2 + 1,
            (), "", b"",
        )
        for file, place in order
    }  # fmt: skip
    ranked = [Fused(f"{f}.{p}", 1 - i / 100, None, None) for i, (f, p) in enumerate(order)]
    ordinals = {f"{file}.{place}": place for file, place in order}
    return passages(ranked, chunks, ordinals, limit)


def spans(page: list[Passage]) -> list[tuple[int, int, int, int]]:
    return [(p.file, p.start, p.end, p.first_line) for p in page]


def test_neighbours_merge_into_the_better_one() -> None:
    page = page_of([(1, 4), (2, 0), (1, 3)])
    assert spans(page) == [(1, 30, 49, 6), (2, 0, 9, 0)]
    assert page[0].best.id == "1.4"


def test_chunks_apart_stay_apart() -> None:
    assert spans(page_of([(1, 4), (1, 6)])) == [(1, 40, 49, 8), (1, 60, 69, 12)]


def test_a_passage_grows_to_two_chunks_and_no_more() -> None:
    assert spans(page_of([(1, 4), (1, 5), (1, 6), (1, 7)])) == [(1, 40, 59, 8), (1, 60, 79, 12)]


def test_one_file_does_not_take_all_the_room() -> None:
    order = [(1, n * 2) for n in range(8)] + [(2, 0), (3, 0)]
    assert [p.file for p in page_of(order, limit=5)] == [1, 1, 1, 2, 3]


def test_one_file_fills_a_page_that_nothing_else_matches() -> None:
    assert [p.file for p in page_of([(1, n * 2) for n in range(8)], limit=5)] == [1] * 5
