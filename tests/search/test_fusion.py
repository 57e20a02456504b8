from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_rag.search.fusion import Fused, fuse

SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 50), max_size=8)


def test_a_chunk_that_both_arms_find_comes_before_one_that_either_finds_better() -> None:
    cosines = {"near": 0.9, "both": 0.8, "far": 0.1}
    bm25 = {"exact": 9.0, "both": 8.0, "faint": 1.0}
    assert [f.id for f in fuse(cosines, bm25, 0.5)][:1] == ["both"]


def test_a_fused_chunk_says_what_it_is_made_of() -> None:
    assert fuse({"a": 0.8, "b": 0.2}, {"a": 3.0, "c": 1.0}, 0.75) == [
        Fused("a", 1.0, 0.8, 1),
        Fused("b", 0.0, 0.2, None),
        Fused("c", 0.0, None, 2),
    ]


def test_a_faint_match_of_words_counts_for_less_than_its_share() -> None:
    cosines, bm25 = {"near": 1.0, "far": 0.0}, {"best": 4.0, "half": 2.0, "far": 0.0}
    assert {f.id: f.score for f in fuse(cosines, bm25, 0.5)} == {
        "best": 0.5, "near": 0.5, "half": 0.125, "far": 0.0,
    }  # fmt: skip


def test_one_arm_alone_keeps_its_order() -> None:
    assert [f.id for f in fuse({}, {"x": 1.0, "y": 2.0}, 0.0)] == ["y", "x"]
    assert [f.id for f in fuse({"x": 0.5, "y": 0.6}, {}, 1.0)] == ["y", "x"]
    assert fuse({}, {}, 0.5) == []


def test_equal_scores_are_all_of_full_weight() -> None:
    assert fuse({}, {"b": 2.0, "a": 2.0}, 0.0) == [
        Fused("a", 1.0, None, 1),
        Fused("b", 1.0, None, 2),
    ]


def test_a_bonus_lifts_a_chunk_and_scores_stay_within_bounds() -> None:
    fused = fuse({"near": 0.9, "named": 0.1}, {"named": 1.0, "near": 2.0}, 0.5, {"named": 1.0})
    assert [(f.id, f.score) for f in fused] == [("named", 0.5), ("near", 0.5)]
    fused = fuse({"near": 0.9, "named": 0.1}, {"named": 2.0}, 0.5, {"named": 1.0})
    assert [f.id for f in fused] == ["named", "near"]


@given(SCORES, SCORES, st.floats(0, 1))
def test_every_chunk_is_there_once_in_descending_order(
    cosines: dict[str, float], bm25: dict[str, float], weight: float
) -> None:
    fused = fuse(cosines, bm25, weight)
    assert sorted(f.id for f in fused) == sorted(cosines.keys() | bm25.keys())
    scores = [f.score for f in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
