"""Labelled sets and the measures of retrieval on them.

A set is a folder with docs/, queries.jsonl (one {"id", "text"} per line) and qrels.tsv (the columns
query-id, corpus-id and score, with that header; corpus-id is a path under docs/).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import numpy as np
from scipy.stats import bootstrap

from local_rag.errors import RagError

MEASURES = {"nDCG@10": ir_measures.nDCG @ 10, "recall@5": ir_measures.R @ 5,
            "recall@10": ir_measures.R @ 10, "MRR": ir_measures.RR}  # fmt: skip
RESAMPLES = 5000

Values = dict[str, dict[str, float]]
"""For each measure, the value of each query."""


class NoLabelledSet(RagError):
    """A file of a labelled set is missing or cannot be read."""


@dataclass(frozen=True)
class LabelledSet:
    """A folder of documents, questions about them, and the documents that answer each."""

    folder: Path
    queries: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]

    @property
    def answers(self) -> set[str]:
        """The documents that answer any of the queries."""
        return {path for scores in self.relevant.values() for path, s in scores.items() if s > 0}


def load_set(folder: Path, limit: int | None = None) -> LabelledSet:
    """Reads a set, with all of its labelled queries or the first `limit`.

    Raises:
        NoLabelledSet: one of its files is missing or cannot be read.
    """
    try:
        return _read_set(folder, limit)
    except OSError as error:
        what = f"{folder} is not a labelled set ({error.filename}: {error.strerror})."
        raise NoLabelledSet(what, "Give a folder with qrels.tsv, queries.jsonl and docs.") from None


def _read_set(folder: Path, limit: int | None) -> LabelledSet:
    relevant: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = {q["id"]: q["text"] for q in map(json.loads, filter(None, lines))}
    kept = [id_ for id_ in queries if any(s > 0 for s in relevant.get(id_, {}).values())][:limit]
    return LabelledSet(folder, {k: queries[k] for k in kept}, {k: relevant[k] for k in kept})


def measure(labels: LabelledSet, rankings: Mapping[str, Sequence[str]]) -> Values:
    """Each measure of each query; 0 if nothing was found."""
    run = {
        query: {path: float(-rank) for rank, path in enumerate(paths)}
        for query, paths in rankings.items()
        if paths
    }
    names = {str(kind): name for name, kind in MEASURES.items()}
    values: Values = {name: dict.fromkeys(labels.queries, 0.0) for name in MEASURES}
    for metric in ir_measures.iter_calc(list(MEASURES.values()), labels.relevant, run):
        values[names[str(metric.measure)]][metric.query_id] = float(metric.value)
    return values


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean with its 95% bootstrap interval."""
    mean = float(np.mean(values))
    if len(set(values)) < 2:
        return mean, mean, mean
    found = bootstrap((np.asarray(values),), np.mean, n_resamples=RESAMPLES, batch=100,
                      method="percentile", rng=np.random.default_rng(0))  # fmt: skip
    return mean, float(found.confidence_interval.low), float(found.confidence_interval.high)
