from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from local_rag.search.snippets import ranked_room, units, window

TEXTS = st.lists(
    st.sampled_from(["One sentence. ", "Another one! ", "a line\n", "x" * 900, "слово ", "検索。"]),
    max_size=30,
).map("".join)


def terms_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def shown(text: str, room: int, *query: str) -> str:
    start, end = window(text, room, terms_of, dict.fromkeys(query, 1.0))
    return text[start:end]


@given(TEXTS)
def test_units_cover_a_text_in_order(text: str) -> None:
    assert "".join(text[a:b] for a, b in units(text)) == text
    assert all(b - a <= 400 for a, b in units(text))


@given(TEXTS, st.integers(50, 600), st.sets(st.sampled_from(["one", "another", "line", "слово"])))
def test_a_window_never_exceeds_its_room(text: str, room: int, query: set[str]) -> None:
    start, end = window(text, room, terms_of, dict.fromkeys(query, 1.0))
    assert 0 <= start <= end <= len(text)
    assert end - start <= room


def test_a_text_that_fits_is_shown_whole() -> None:
    assert shown("alpha. beta.", 100, "beta") == "alpha. beta."


def test_the_window_lies_round_the_sentence_that_matches() -> None:
    text = "".join(f"Filler number {n} is here. " for n in range(20))
    text = text.replace("number 12 is", "number 12 about failover is")
    assert shown(text, 80, "failover") == (
        "Filler number 12 about failover is here. Filler number 13 is here. "
    )


def test_two_words_near_each_other_beat_one_repeated() -> None:
    text = "alpha alpha alpha.\n" + "filler text here.\n" * 10 + "alpha and beta.\n" + "end.\n" * 9
    assert "alpha and beta." in shown(text, 60, "alpha", "beta")


def test_whole_lines_are_shown() -> None:
    text = "\n".join(f"{n}: some code here" for n in range(50))
    piece = shown(text + "\nneedle here\n" + text, 100, "needle")
    assert "needle here\n" in piece
    assert all(re.fullmatch(r"\d+: some code here|needle here", line)
               for line in piece.strip().splitlines())  # fmt: skip


def test_without_a_matching_word_the_nearest_stretch_is_shown() -> None:
    text = "".join(f"Sentence {n} of many. " for n in range(40))
    chosen: list[str] = []

    def nearest(texts: object) -> int:
        chosen.extend(texts)  # type: ignore[call-overload]
        return 3

    start, end = window(text, 120, terms_of, {"absent": 1.0}, nearest)
    assert chosen[3] in text[start:end]
    assert "".join(chosen) == text


def test_a_match_inside_a_huge_line_is_shown() -> None:
    text = "word " * 5000 + "needle " + "word " * 5000
    assert "needle" in shown(text, 300, "needle")


@given(st.lists(st.integers(0, 5000), max_size=20), st.integers(-10, 9000))
def test_room_goes_to_the_best_hits_first_and_no_more_than_there_is(
    sizes: list[int], room: int
) -> None:
    shares = ranked_room(sizes, room)
    assert sum(shares) <= max(0, room)
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))


def test_the_last_hits_keep_a_third_of_an_even_share() -> None:
    assert ranked_room([3000, 1000, 1000, 1000], 4000) == [2500, 834, 333, 333]
    assert ranked_room([500, 500], 4000) == [500, 500]
