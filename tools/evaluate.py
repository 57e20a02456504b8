#!/usr/bin/env python3
"""Measures search on a labelled set (see tools/labelled.py), in every mode.

Each query ranks documents by their best chunks. Prints nDCG@10, recall and MRR with 95% bootstrap
intervals; with --compare, the differences between two runs and the queries that moved most.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.cli.progress import ProgressDisplay
from local_rag.embedding.choice import query_embedder_for
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import RagError, TextRejected
from local_rag.index import keyword_index as keywords
from local_rag.index.live_index import LiveIndex, OpenIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Options
from local_rag.ingest.run import run_ingest
from local_rag.search.filters import Filters, Selection, selection_of
from local_rag.search.hybrid import Mode, query_vector, rank
from local_rag.settings import Settings, load_settings
from tools.labelled import MEASURES, LabelledSet, Values, interval, load_set, measure

MAIN = "nDCG@10"
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
DEPTH = 100  # chunks requested from each arm
KEPT = 10  # documents of each ranking written to the JSON file
MOVED = 15  # queries to show of those that moved most
WIDTH = 140  # of a table that is not printed to a terminal


def rank_documents(
    index: OpenIndex, embedder: QueryEmbedder, query: str, mode: Mode, depth: int = DEPTH
) -> list[str]:
    """The paths of the documents of each arm's best `depth` chunks, in the order of their best.

    A query without a vector is treated as search does: keywords alone in hybrid mode, nothing in
    semantic mode.

    Raises:
        RagError: an arm that the mode needs cannot be searched.
    """
    return _ranking(index, embedder, query, mode, depth)[0]


def _ranking(
    index: OpenIndex, embedder: QueryEmbedder, query: str, mode: Mode, depth: int = DEPTH
) -> tuple[list[str], bool]:
    """The paths, and whether the embedder refused the query."""
    scope, matches = selection_of(index, Filters()), {}
    if mode != "semantic":
        found = keywords.search_keywords(index.catalog, query, depth, scope.files)
        matches = {match.id: match for match in found}
    cosines = None if mode == "keyword" else _cosines(index, embedder, query, depth, scope)
    ids = [fused.id for fused in rank(index, cosines or {}, matches, mode)]
    chunks = index.catalog.chunks(ids)
    files = index.catalog.files_by_number({chunk.file for chunk in chunks.values()})
    paths = list(dict.fromkeys(files[chunks[id_].file].path for id_ in ids))
    return paths, mode != "keyword" and cosines is None


def _cosines(
    index: OpenIndex, embedder: QueryEmbedder, query: str, depth: int, scope: Selection
) -> dict[str, float] | None:
    """The nearest chunks; None if the embedder refuses the query."""
    try:
        vector = query_vector(index, embedder, query)
    except TextRejected:
        return None
    assert index.vectors
    near = index.vectors.nearest(vector, depth, where=scope.where)
    return {neighbour.id: neighbour.cosine for neighbour in near}


def shown(values: Sequence[float], *, signed: bool = False) -> str:
    """A mean with its interval."""
    mean, low, high = interval(values)
    sign = "+" if signed else ""
    return f"{mean:{sign}.4f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def settings_for(labels: LabelledSet, embedder: str, store: Path) -> Settings:
    """The user's settings, with this set's documents, this embedder and this store."""
    documents = (str((labels.folder / "docs").resolve()),)
    return load_settings(
        {"corpus_dir": documents, "store_dir": store.resolve(), "embedder": embedder}
    )


@contextmanager
def indexed(settings: Settings) -> Iterator[tuple[OpenIndex, QueryEmbedder]]:
    """The up-to-date index of the configured documents, and the embedder of its queries."""
    with ProgressDisplay() as progress:
        run_ingest(settings, Options(), progress)
    embedder = QueryEmbedder(lambda identity: query_embedder_for(settings, identity))
    with closing(LiveIndex(Store(settings.store_dir))) as live, live.use() as index:
        yield index, embedder


def evaluate(
    labels: LabelledSet, settings: Settings, modes: Sequence[Mode], console: Console
) -> dict[str, Any]:
    """Brings the store up to date and measures; returns the result as JSON stores it."""
    with indexed(settings) as (index, embedder):
        missing = labels.answers - {file.path for file in index.catalog.files()}
        if missing:
            console.print(f"warning: {len(missing)} labelled documents are not in the index")
        manifest = index.snapshot.manifest
        chosen = modes or (MODES if manifest.identity.dimension else ["keyword"])
        ranked = {mode: _ranked(labels, index, embedder, mode) for mode in chosen}
        return {
            "set": labels.folder.name,
            "embedder": manifest.identity.label,
            "recipe": manifest.recipe,
            "chunks": manifest.chunks, "queries": dict(labels.queries),
            "without_vector": max((found.pop("without_vector") for found in ranked.values()),
                                  key=len),
            "modes": ranked,
        }  # fmt: skip


def _ranked(
    labels: LabelledSet, index: OpenIndex, embedder: QueryEmbedder, mode: Mode
) -> dict[str, Any]:
    start = time.perf_counter()
    found = {id_: _ranking(index, embedder, query, mode) for id_, query in labels.queries.items()}
    seconds = (time.perf_counter() - start) / max(len(found), 1)
    rankings = {id_: paths for id_, (paths, _) in found.items()}
    values = measure(labels, rankings)
    summary = {
        name: dict(zip(("mean", "low", "high"), interval(list(v.values())), strict=True))
        for name, v in values.items()
    }
    top = {id_: paths[:KEPT] for id_, paths in rankings.items()}
    refused = [id_ for id_, (_, without_vector) in found.items() if without_vector]
    return {"seconds": seconds, "summary": summary, "values": values, "documents": top,
            "without_vector": refused}  # fmt: skip


def print_result(result: Mapping[str, Any], console: Console) -> None:
    """Prints a row for each mode, and the paired difference of each pair of modes."""
    title = f"{result['set']}: {len(result['queries'])} queries, {result['chunks']} chunks"
    table = Table("mode", *MEASURES, "ms a query", title=f"{title}, {result['embedder']}")
    for mode, found in result["modes"].items():
        cells = [shown(list(found["values"][name].values())) for name in MEASURES]
        table.add_row(mode, *cells, f"{found['seconds'] * 1000:.0f}")
    for one, other in combinations(result["modes"], 2):
        pair = result["modes"][one]["values"], result["modes"][other]["values"]
        table.add_row(f"{other} - {one}", *(shown(_gains(*pair, n), signed=True) for n in MEASURES))
    console.print(table)
    if refused := result.get("without_vector"):
        console.print(
            f"{len(refused)} queries have no vector with this embedder:"
            " hybrid answers them by keywords alone, semantic not at all"
        )


def _gains(before: Values, after: Values, name: str) -> list[float]:
    return [after[name][id_] - value for id_, value in before[name].items() if id_ in after[name]]


def print_comparison(before: Mapping[str, Any], after: Mapping[str, Any], console: Console) -> None:
    """Prints, for each mode in both runs, the paired differences and the most moved queries."""
    for mode in (mode for mode in before["modes"] if mode in after["modes"]):
        old, new = before["modes"][mode], after["modes"][mode]
        table = Table("measure", "before", "after", "difference", title=f"{before['set']}, {mode}")
        for name in MEASURES:
            gains = _gains(old["values"], new["values"], name)
            means = [f"{run['summary'][name]['mean']:.4f}" for run in (old, new)]
            table.add_row(name, *means, shown(gains or [0.0], signed=True))
        console.print(table)
        for line in _moved(old, new, before["queries"]):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _moved(
    old: Mapping[str, Any], new: Mapping[str, Any], texts: Mapping[str, str]
) -> Iterator[str]:
    a, b = old["values"][MAIN], new["values"][MAIN]
    gains = {id_: b[id_] - value for id_, value in a.items() if id_ in b and b[id_] != value}
    rose = sum(gain > 0 for gain in gains.values())
    yield f"{MAIN}: {rose} queries rose, {len(gains) - rose} fell, {len(a) - len(gains)} stayed"
    for id_, gain in sorted(gains.items(), key=lambda item: -abs(item[1]))[:MOVED]:
        first = (new["documents"][id_] or ["nothing"])[0]
        yield f"  {gain:+.2f}  {id_}: {texts[id_][:80]}  ->  {first}"


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("evaluate.py", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="the folder of a labelled set")
    parser.add_argument("--embedder", default="auto", choices=["auto", "ollama", "builtin", "none"],
                        help="what to embed with")  # fmt: skip
    parser.add_argument(
        "--mode",
        default="",
        help=f"one or more of {','.join(MODES)}; default: all that the index allows",
    )
    parser.add_argument(
        "--json", type=Path, metavar="OUT", help="write the values of each query to this file"
    )
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="keep the index in this folder, for reuse"
    )
    parser.add_argument(
        "--limit-queries", type=int, metavar="N", help="use only the first N queries"
    )
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("A.json", "B.json"),
                        help="compare two files that --json wrote")  # fmt: skip
    options = parser.parse_args(arguments)
    options.mode = [mode for mode in options.mode.split(",") if mode]
    if unknown := [mode for mode in options.mode if mode not in MODES]:
        parser.error(f"--mode: {unknown[0]} is not one of {', '.join(MODES)}")
    if not options.compare and not options.folder:
        parser.error("give a folder, or two files with --compare")
    return options


def main(arguments: Sequence[str]) -> int:
    """Measures or compares; returns 2 if the documents could not be read, indexed or searched."""
    options = _parse(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if options.compare:
        try:
            before, after = (json.loads(path.read_text("utf-8")) for path in options.compare)
        except (OSError, ValueError) as error:
            console.print(
                f"error: cannot read a run to compare: {error}", markup=False, soft_wrap=True
            )
            return 2
        if before["set"] != after["set"]:
            console.print(
                f"error: the runs are of two sets: {before['set']}, {after['set']}", markup=False
            )
            return 2
        print_comparison(before, after, console)
        return 0
    try:
        labels = load_set(options.folder, options.limit_queries)
        with tempfile.TemporaryDirectory() as folder:
            settings = settings_for(labels, options.embedder, options.store or Path(folder))
            result = evaluate(labels, settings, options.mode, Console(stderr=True))
    except RagError as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    print_result(result, console)
    if options.json:
        options.json.write_text(json.dumps(result, ensure_ascii=False, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
