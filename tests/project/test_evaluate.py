"""The evaluation: measures by hand, a run over a small set, and what a comparison says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.evaluate import main, settings_for
from tools.labelled import LabelledSet, interval, load_set, measure

DOCUMENTS = {
    "a.md": "# Backups\n\nThe nightly backup copies the orders database.",
    "b/c.md": "# Failover\n\nPromote the replica when E-1042 shows up.",
    "d.md": "# Old failover\n\nPromote the replica by hand, without E-1042.",
    "e.md": "---\nlifecycle: superseded\n---\nE-1042 E-1042 backups",
}
QUERIES = {
    "1": "when is the backup?", "2": "what is E-1042?", "3": "promote by hand", "4": "nothing else",
}  # fmt: skip
QRELS = (
    "query-id\tcorpus-id\tscore\n1\ta.md\t1\n2\tb/c.md\t1\n2\td.md\t1\n3\tb/c.md\t1\n3\ta.md\t0\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A labelled set of three queries; the fourth has no label."""
    folder = tmp_path / "small"
    for name, text in DOCUMENTS.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    lines = (json.dumps({"id": id_, "text": text}) for id_, text in QUERIES.items())
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def test_a_folder_without_a_set_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none"
    assert main([str(missing)]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"error: {missing} is not a labelled set ({missing / 'qrels.tsv'}: No such file or"
        " directory). Give a folder with qrels.tsv, queries.jsonl and docs."
    ]
    assert main(["--compare", str(missing), str(missing)]) == 2
    assert capsys.readouterr().out.startswith("error: cannot read a run to compare: [Errno 2]")


def test_a_set_has_the_queries_that_have_an_answer(folder: Path) -> None:
    labels = load_set(folder)
    assert list(labels.queries) == ["1", "2", "3"]
    assert labels.answers == {"a.md", "b/c.md", "d.md"}
    assert list(load_set(folder, 2).queries) == ["1", "2"]


def test_the_measures_are_those_of_a_hand_calculation() -> None:
    relevant = {"1": {"a": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 1}}
    labels = LabelledSet(Path(), dict.fromkeys(relevant, ""), relevant)
    far = [f"x{n}" for n in range(7)]
    values = measure(labels, {"1": ["b", "a"], "2": ["a", *far, "b"], "3": []})
    assert values["MRR"] == {"1": 0.5, "2": 1.0, "3": 0.0}
    assert values["recall@5"] == {"1": 1.0, "2": 0.5, "3": 0.0}
    assert values["recall@10"] == {"1": 1.0, "2": 1.0, "3": 0.0}
    ideal, gained = 1 + 0.6309, 1 + 0.3010
    assert values["nDCG@10"] == pytest.approx(
        {"1": 0.6309, "2": gained / ideal, "3": 0.0}, abs=1e-4
    )


def test_an_interval_holds_its_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    mean, low, high = interval(values)
    assert mean == pytest.approx(0.5)
    assert 0.1 < low < 0.4
    assert 0.6 < high < 0.9
    assert interval(values) == (mean, low, high)
    assert interval([0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_a_run_takes_all_other_settings_from_the_environment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    settings = settings_for(load_set(folder), "ollama", tmp_path / "store")
    assert (settings.ollama_host, settings.embedder) == ("http://127.0.0.1:9", "ollama")
    assert settings.corpus_dir == (str(folder / "docs"),)


def test_a_run_measures_each_query_and_keeps_its_store(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, store = tmp_path / "out.json", tmp_path / "store"
    arguments = [str(folder), "--embedder", "none", "--store", str(store), "--json", str(out)]
    assert main(arguments) == 0
    result = json.loads(out.read_text("utf-8"))
    keyword = result["modes"]["keyword"]
    assert (result["set"], result["embedder"], result["chunks"]) == ("small", "none", 4)
    assert list(result["modes"]) == ["keyword"]
    assert keyword["documents"] == {"1": ["a.md"], "2": ["b/c.md", "d.md"], "3": ["d.md", "b/c.md"]}
    assert keyword["values"]["MRR"] == {"1": 1.0, "2": 1.0, "3": 0.5}
    assert keyword["summary"]["MRR"]["mean"] == pytest.approx(2.5 / 3)
    assert "0.8333" in capsys.readouterr().out
    snapshots = list((store / "snapshots").iterdir())
    assert main(arguments) == 0
    assert list((store / "snapshots").iterdir()) == snapshots


def test_every_mode_that_the_store_allows_is_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder), "--embedder", "builtin", "--limit-queries", "2"]) == 0
    shown = capsys.readouterr().out
    for row in ("keyword", "semantic", "hybrid", "hybrid - keyword", "hybrid - semantic"):
        assert row in shown


def test_a_query_without_a_vector_is_counted_and_answered_by_keywords_in_hybrid(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "docs" / "a.md").write_text("Резервная копия базы каждую ночь.", encoding="utf-8")
    query = json.dumps({"id": "1", "text": "когда делается резервная копия?"})
    (folder / "queries.jsonl").write_text(query + "\n", encoding="utf-8")
    out = tmp_path / "out.json"
    assert main([str(folder), "--embedder", "builtin", "--json", str(out)]) == 0
    result = json.loads(out.read_text("utf-8"))
    assert result["without_vector"] == ["1"]
    mrr = {mode: found["values"]["MRR"] for mode, found in result["modes"].items()}
    assert mrr == {"keyword": {"1": 1.0}, "semantic": {"1": 0.0}, "hybrid": {"1": 1.0}}
    assert "1 queries have no vector with this embedder" in capsys.readouterr().out


def test_a_comparison_names_the_queries_that_moved(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    assert main([str(folder), "--embedder", "none", "--json", str(before)]) == 0
    (folder / "docs" / "d.md").write_text("Nothing here.", encoding="utf-8")
    assert main([str(folder), "--embedder", "none", "--json", str(after)]) == 0
    capsys.readouterr()
    assert main(["--compare", str(before), str(after)]) == 0
    shown = capsys.readouterr().out
    assert "nDCG@10: 1 queries rose, 1 fell, 1 stayed" in shown
    assert "+0.37  3: promote by hand  ->  b/c.md" in shown
    assert "-0.39  2: what is E-1042?  ->  b/c.md" in shown


def test_a_mode_that_cannot_be_searched_is_no_zero(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder), "--embedder", "none", "--mode", "keyword,semantic"]) == 2
    assert "error: This index has no vectors." in capsys.readouterr().out


def test_an_unknown_mode_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(folder), "--mode", "fuzzy"])
    assert "fuzzy is not one of keyword, semantic, hybrid" in capsys.readouterr().err
