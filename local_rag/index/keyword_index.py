"""The keyword index of one snapshot: SQLite FTS5 over the chunks' terms, ranked by BM25.

FTS5 never sees people's text, only terms made of it (`text.tokenizer`), as quoted strings.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from local_rag.text.language import guess_language
from local_rag.text.tokenizer import Word, telling_words

COLUMN_WEIGHTS = "1.0, 3.0, 2.0, 1.0, 1.0, 1.0"
STEMS, EXACT = "- exact", "exact"  # FTS5's names for all columns except one, and for that one
# Each stem weighs 1, and so does a whole word with several stems. Identifiers, and a word that is
# the whole query, are names: a whole name weighs as much as all its parts.
EXACT_WEIGHT = 0.3  # of the exact form of a word with one stem
PHRASE_WEIGHT = 0.5  # per part, of a name's parts side by side
COMMON_LANGUAGE = (
    0.1  # of the files: a language of fewer isn't tried on a query that could be in any
)
NAME_BONUS = 0.3  # bonus of a name among other words; docs/measurements.md has other values
NAME_ALONE_BONUS = 2.0  # bonus where the query is only names: nothing merely similar ranks above it
NAME_PARTS_SHARE = (
    0.5  # of that: its parts side by side, as `statusCode` has those of `status_code`
)
MOST_QUERY_WORDS = 64  # words; a pasted page would make a query of thousands of terms


@dataclass(frozen=True)
class KeywordMatch:
    """A chunk that contains some of a query's words; a higher `bm25` is better.

    `coverage` is the share of the query's stems in it, weighed by rarity: 0 to 1. `named` is the
    bonus for the query's names in it as written: up to `NAME_ALONE_BONUS` if the query is only
    names, else up to `NAME_BONUS`.
    """

    id: str
    bm25: float
    coverage: float
    named: float


class RowSource(Protocol):
    """Runs SQL queries, as an open catalog does."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a query."""


def count_chunks(connection: sqlite3.Connection) -> int:
    """How many chunks are indexed."""
    return int(connection.execute("SELECT count(*) FROM words_docsize").fetchone()[0])


def search_keywords(
    source: RowSource, query: str, count: int, files: Collection[int] | None = None
) -> list[KeywordMatch]:
    """Up to `count` chunks by descending BM25, from active documents.

    With `files`, from the files with these numbers instead, active or not.
    """
    languages = _languages(source, query)
    scores, covered = _scores(source, weighted_terms(query, languages))
    kept = _kept(source, set(scores), files)
    best = sorted(kept, key=lambda number: (-scores[number], number))[:count]
    sql = "SELECT number, id FROM chunks WHERE number IN (SELECT value FROM json_each(?))"
    ids = dict(source.rows(sql, (json.dumps(best),)))
    named = _named(source, *name_terms(query, languages))
    return [KeywordMatch(ids[n], scores[n], covered.get(n, 0.0), named.get(n, 0.0)) for n in best]


def _named(source: RowSource, names: Sequence[tuple[str, str]], alone: bool) -> dict[int, float]:
    """By chunk number, `KeywordMatch.named` of chunks with any of the query's names as written."""
    share = (NAME_ALONE_BONUS if alone else NAME_BONUS) / max(len(names), 1)
    found: dict[int, float] = {}
    for whole, inside in names:
        worth = dict.fromkeys(_rows(source, inside), share * NAME_PARTS_SHARE)
        worth |= dict.fromkeys(_rows(source, whole), share)
        for number, value in worth.items():
            found[number] = found.get(number, 0.0) + value
    return found


def _rows(source: RowSource, expression: str) -> list[int]:
    sql = "SELECT rowid FROM words WHERE words MATCH ?"
    return [row[0] for row in source.rows(sql, (expression,))] if expression else []


def _as_written(word: Word) -> tuple[str, str]:
    """The whole name, and its parts side by side: `a.run_all()` contains `run_all`."""
    parts = f"{STEMS} : {fts_string(' '.join(word.stems))}" if len(word.stems) > 1 else ""
    if not word.whole and parts:
        return parts, ""
    return f"{EXACT} : {fts_string(word.whole or word.plain)}", parts


def name_terms(query: str, languages: Sequence[str]) -> tuple[list[tuple[str, str]], bool]:
    """FTS5 expressions for each of the query's names, and whether it has nothing else.

    A name is an identifier, or a word that is the whole query.
    """
    telling = telling_words(query, languages[0] if languages else "")
    names = telling if len(telling) == 1 else [word for word in telling if word.identifier]
    expressions = [_as_written(word) for word in names[:MOST_QUERY_WORDS]]
    return expressions, bool(names) and len(names) == len(telling)


def _kept(source: RowSource, numbers: set[int], files: Collection[int] | None) -> set[int]:
    """The chunk numbers that may be found."""
    if files is not None:
        sql = "SELECT number FROM chunks WHERE file IN (SELECT value FROM json_each(?))"
        return numbers & {row[0] for row in source.rows(sql, (json.dumps(sorted(files)),))}
    sql = (
        "SELECT chunks.number FROM files JOIN chunks ON chunks.file = files.number"
        " WHERE files.lifecycle = 'superseded'"
    )
    return numbers - {row[0] for row in source.rows(sql)}


def _scores(
    source: RowSource, terms: Mapping[str, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """The BM25 and the coverage of every chunk with any of the weighted terms.

    FTS5's own sum gives nothing for a word that half of the chunks contain. In a folder about one
    subject those are the words that matter, so each term is queried and weighed by itself.
    """
    total = source.rows("SELECT count(*) FROM words_docsize")[0][0]
    sql = f"SELECT rowid, bm25(words, {COLUMN_WEIGHTS}) FROM words WHERE words MATCH ?"  # noqa: S608
    scores: dict[int, float] = {}
    covered: dict[int, float] = {}
    mass = 0.0
    for expression, weight in terms.items():
        rows = source.rows(sql, (expression,))
        odds = (total - len(rows) + 0.5) / (len(rows) + 0.5)
        # FTS5 cuts its inverse document frequency off at 1e-6; ours stays well above zero.
        factor = weight * (math.log1p(odds) / (math.log(odds) if odds > 1 else 1e-6))
        rarity = weight * math.log1p(odds) if STEMS in expression else 0.0
        mass += rarity
        for number, negative in rows:
            scores[number] = scores.get(number, 0.0) - factor * negative
            covered[number] = covered.get(number, 0.0) + rarity
    return scores, {number: share / mass for number, share in covered.items() if mass}


def _languages(source: RowSource, query: str) -> list[str]:
    """The languages to read the query in: its own if it can be told, else those of many files."""
    counts = dict(source.rows("SELECT language, count(*) FROM files GROUP BY language"))
    guess = guess_language(query, [language for language in counts if language])
    common = sum(counts.values()) * COMMON_LANGUAGE
    return [guess] if guess else [k for k, files in counts.items() if files >= common]


def weighted_terms(query: str, languages: Sequence[str]) -> dict[str, float]:
    """FTS5 expressions for the query's words, each with its weight.

    Stop words are dropped unless there is nothing else.
    """
    terms: dict[str, float] = {}
    for language in languages:
        telling = telling_words(query, language)
        for word in telling[:MOST_QUERY_WORDS]:
            for expression, weight in _expressions(word, alone=len(telling) == 1):
                terms[expression] = max(weight, terms.get(expression, 0.0))
    return terms


def _expressions(word: Word, *, alone: bool) -> Iterator[tuple[str, float]]:
    parts, name = len(word.stems), alone or word.identifier
    for stem in word.stems:
        # A single character is searched at the start of every pair.
        yield f"{STEMS} : {fts_string(stem)}{' *' if word.run and len(stem) == 1 else ''}", 1.0
    if parts > 1 and (name or word.run):
        yield f"{STEMS} : {fts_string(' '.join(word.stems))}", PHRASE_WEIGHT * parts
    if word.plain:
        yield f"{EXACT} : {fts_string(word.plain)}", EXACT_WEIGHT
    if word.whole:
        weight = 1.0 if parts > 1 else EXACT_WEIGHT
        yield f"{EXACT} : {fts_string(word.whole)}", float(parts) if name else weight


def fts_string(terms: str) -> str:
    """A string of FTS5's query language: one term, or several side by side."""
    return '"' + terms.replace('"', '""') + '"'
