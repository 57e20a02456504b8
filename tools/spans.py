#!/usr/bin/env python3
"""Measures how often one of the texts that a search returns contains a whole answer.

It needs a labelled set (see tools/labelled.py) with a spans.jsonl: one {"query", "doc", "text"} per
line, the exact parts of a document that answer a query. The baseline is the best five of fixed
windows of 200 tokens (of the built-in embedder) with 35 of overlap, ranked by cosine. For each
query, the search gets as many bytes as the baseline takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.chunking.sizes import TokenStarts
from local_rag.embedding.base import Embedder, Vector
from local_rag.embedding.builtin import BuiltinEmbedder
from local_rag.embedding.choice import make_embedder
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import RagError
from local_rag.search.hybrid import Query, search
from local_rag.search.weakness import DEFAULTS
from local_rag.settings import Settings
from tools.evaluate import indexed, settings_for, shown
from tools.labelled import LabelledSet, NoLabelledSet, load_set

WINDOW, OVERLAP = 200, 35  # tokens
TOP = 5  # texts in an answer

Texts = Mapping[str, Sequence[str]]
"""For each query, the returned texts, best first."""


def load_spans(labels: LabelledSet) -> dict[str, list[str]]:
    """The answers to each query of the set, exactly as in the documents."""
    spans: dict[str, list[str]] = {query: [] for query in labels.queries}
    try:
        lines = (labels.folder / "spans.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        what = f"{error.filename} cannot be read ({error.strerror})."
        raise NoLabelledSet(what, "Give a labelled set that has it.") from None
    for span in map(json.loads, filter(None, lines)):
        if span["query"] in spans:
            spans[span["query"]].append(span["text"])
    return {query: texts for query, texts in spans.items() if texts}


def whole(spans: Sequence[str], texts: Sequence[str]) -> float:
    """The share of the spans that are entirely inside one of the texts."""
    return mean(any(span.strip() in text for text in texts) for span in spans)


def windows(text: str, starts: Sequence[int]) -> list[str]:
    """Fixed windows of `WINDOW` tokens, each sharing `OVERLAP` with the previous one."""
    ends = [*starts[1:], len(text)]
    firsts = range(0, max(len(starts) - OVERLAP, 1), WINDOW - OVERLAP)
    return [text[starts[i] : ends[min(i + WINDOW, len(starts)) - 1]] for i in firsts if starts]


def by_windows(labels: LabelledSet, embedder: Embedder, token_starts: TokenStarts) -> Texts:
    """For each query, the best `TOP` windows of all documents."""
    paths = sorted(path for path in (labels.folder / "docs").rglob("*") if path.is_file())
    documents = [path.read_text(encoding="utf-8") for path in paths]
    pieces = [piece for text in documents for piece in windows(text, token_starts(text))]
    vectors: list[Vector] = []
    for i in range(0, len(pieces), embedder.batch_size):
        batch = [EmbeddingInput("", piece) for piece in pieces[i : i + embedder.batch_size]]
        vectors += embedder.embed_documents(batch)
    matrix = np.stack(vectors)
    return {
        id_: [pieces[n] for n in np.argsort(-(matrix @ embedder.embed_query(query)))[:TOP]]
        for id_, query in labels.queries.items()
    }


def by_search(labels: LabelledSet, settings: Settings, rooms: Mapping[str, int]) -> Texts:
    """For each query, what the search shows in that many bytes and at most `TOP` texts."""
    found = {}
    with indexed(settings) as (index, embedder):
        thresholds = DEFAULTS[index.snapshot.manifest.identity.kind]
        for id_, text in labels.queries.items():
            query = Query(text, TOP, room=rooms[id_])
            answer = search(index, embedder, query, thresholds)
            found[id_] = [hit.text for hit in answer.hits]
    return found


def print_result(spans: Mapping[str, Sequence[str]], found: Mapping[str, Texts]) -> None:
    """Prints a row for each way to search, and their paired difference."""
    table = Table("texts", "all of the answer", "any part of it", "bytes a query")
    shares = {}
    for name, texts in found.items():
        values = [whole(spans[id_], texts[id_]) for id_ in spans]
        shares[name] = (
            [float(value == 1) for value in values],
            [float(value > 0) for value in values],
        )
        length = mean(sum(len(text.encode("utf-8")) for text in texts[id_]) for id_ in spans)
        table.add_row(name, *map(shown, shares[name]), f"{length:.0f}")
    one, other = shares.values()
    gains = ([a - b for a, b in zip(*pair, strict=True)] for pair in zip(one, other, strict=True))
    table.add_row("difference", *(shown(gain, signed=True) for gain in gains), "")
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def main(arguments: Sequence[str]) -> int:
    """Measures both; returns 2 if the documents could not be indexed or searched."""
    parser = argparse.ArgumentParser("spans.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="a labelled set with spans.jsonl")
    parser.add_argument("--embedder", default="ollama", choices=["ollama", "builtin"],
                        help="what to embed with")  # fmt: skip
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="keep the index in this folder, for reuse"
    )
    options = parser.parse_args(arguments)
    try:
        labels = load_set(options.folder)
        spans = load_spans(labels)
        with tempfile.TemporaryDirectory() as folder:
            settings = settings_for(labels, options.embedder, options.store or Path(folder))
            embedder = make_embedder(options.embedder, settings)
            token_starts = BuiltinEmbedder(settings.builtin_model_dir).sizing.token_starts
            assert embedder is not None
            fixed = by_windows(labels, embedder, token_starts)
            rooms = {
                id_: sum(len(text.encode("utf-8")) for text in texts)
                for id_, texts in fixed.items()
            }
            ours = by_search(labels, settings, rooms)
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_result(spans, {"search": ours, "windows": fixed})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
