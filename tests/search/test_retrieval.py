"""How well search does on the sample corpus, with the built-in embedder: a floor, not a goal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import TextRejected
from local_rag.index.live_index import LiveIndex, OpenIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.search.hybrid import Mode, Query, search
from local_rag.search.weakness import DEFAULTS
from local_rag.settings import PROJECT_DIR, Settings
from tests.conftest import Quiet
from tools.calibrate import measure as calibrate
from tools.evaluate import rank_documents
from tools.labelled import load_set, measure

SET = PROJECT_DIR / "tests" / "sample-set"
EMBEDDER = QueryEmbedder(lambda identity: BuiltinEmbedder())


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenIndex]:
    store = tmp_path_factory.mktemp("sample") / "store"
    settings = Settings.model_validate(
        {
            "corpus_dir": (str(PROJECT_DIR / "sample-corpus"),),
            "store_dir": store,
            "embedder": "builtin",
        }
    )
    run_ingest(settings, Options(), Quiet())
    live = LiveIndex(Store(store))
    with live.use() as opened:
        yield opened
    live.close()


@pytest.mark.parametrize(
    ("mode", "ndcg", "first"), [("hybrid", 0.92, 0.85), ("semantic", 0.85, 0.75)]
)
def test_labelled_questions_find_their_document(
    index: OpenIndex, mode: Mode, ndcg: float, first: float
) -> None:
    labels = load_set(SET)
    rankings = {id_: rank_documents(index, EMBEDDER, q, mode) for id_, q in labels.queries.items()}
    values = measure(labels, rankings)
    right = [path[0] in labels.relevant[id_] for id_, path in rankings.items()]
    assert sum(values["nDCG@10"].values()) / len(labels.queries) >= ndcg
    assert sum(right) / len(right) >= first


def test_an_exact_name_or_code_is_always_the_first_hit(index: OpenIndex) -> None:
    labels = load_set(SET)
    exact = {id_: q for id_, q in labels.queries.items() if len(q.split()) <= 2}
    first = {q: rank_documents(index, EMBEDDER, q, "hybrid")[0] for q in exact.values()}
    assert first == {q: next(iter(labels.relevant[id_])) for id_, q in exact.items()}
    assert len(exact) >= 8


@pytest.mark.parametrize(
    ("calibrated", "right_negatives", "wrong_answers"), [(False, 8, 7), (True, 7, 3)]
)
def test_what_nothing_answers_comes_back_weak_and_most_of_what_is_answered_does_not(
    index: OpenIndex, calibrated: bool, right_negatives: int, wrong_answers: int
) -> None:
    thresholds = calibrate(index, EMBEDDER) if calibrated else DEFAULTS["builtin"]

    def all_weak(question: str) -> bool:
        hits = search(index, EMBEDDER, Query(question, 6), thresholds).hits
        return all(hit.weak for hit in hits)

    lines = (SET / "negatives.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum(all_weak(json.loads(line)["text"]) for line in lines) >= right_negatives
    assert sum(map(all_weak, load_set(SET).queries.values())) <= wrong_answers


def test_a_code_in_a_question_outweighs_what_is_only_alike(index: OpenIndex) -> None:
    for question, path in (
        ("What should I do about E-4107 after the failover of the database?", "deploys.md"),
        ("is ERR_TIMELINE_FORK a sev-1 incident", "runbooks/database-failover.md"),
    ):
        hits = search(index, EMBEDDER, Query(question, 3), DEFAULTS["builtin"]).hits
        assert hits[0].file.path == path


@given(st.text(max_size=80), st.sampled_from(["hybrid", "semantic", "keyword"]))
def test_any_text_at_all_is_a_query(index: OpenIndex, text: str, mode: Mode) -> None:
    clean = text.encode("utf-8", "replace").decode("utf-8")
    try:
        answer = search(index, EMBEDDER, Query(clean, 3, mode), DEFAULTS["builtin"])
    except TextRejected:  # in a language that the embedder doesn't know, and keywords not wanted
        assert mode == "semantic"
        return
    assert len(answer.hits) <= 3
    assert not any("IndexUnreadable" in n or "syntax" in n for n in answer.notices)


@pytest.mark.parametrize(
    "text",
    ['"', "*", "NEAR(a b)", "a=b", "don't", "50%", "@x", "-", "title:foo", "a AND b", "(", "^a",
     "body : failover", "NOT x", "{title} : x"],
)  # fmt: skip
def test_search_syntax_is_only_text(index: OpenIndex, text: str) -> None:
    plain = search(index, EMBEDDER, Query(text, 3, "keyword"), DEFAULTS["builtin"])
    assert plain.notices == ()


def test_the_lines_of_a_hit_are_those_of_its_text(index: OpenIndex) -> None:
    for question in load_set(SET).queries.values():
        for hit in search(index, EMBEDDER, Query(question, 6, room=900), DEFAULTS["builtin"]).hits:
            lines = index.catalog.text(hit.file.number).split("\n")
            shown = "\n".join(lines[hit.first_line - 1 : hit.last_line])
            assert hit.text in shown
            assert hit.text.count("\n") == hit.last_line - hit.first_line
