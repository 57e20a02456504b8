"""The word index: what a query finds, in which order, and that people's text is never syntax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.chunking.chunks import chunk_document
from local_rag.chunking.sizes import ChunkBudget
from local_rag.corpus.scan import FileVersion
from local_rag.documents.document import parse_document
from local_rag.index import keyword_index as keywords
from local_rag.index.catalog import Catalog
from local_rag.ingest.catalog_writer import CatalogWriter
from local_rag.text.language import guess_language
from local_rag.text.tokenizer import words

BUDGET = ChunkBudget(target=40, small=5, whole=40, hard=200)
PARAGRAPH = "Nothing in this paragraph matters to anybody at all. "


def build(path: Path, documents: dict[str, str]) -> Catalog:
    """A published catalogue of these documents, cut at about 40 words."""
    catalog = CatalogWriter.create(path)
    for name, text in documents.items():
        document = parse_document(text.encode("utf-8"))
        chunks = chunk_document(
            document, BUDGET, lambda t: [i for i, c in enumerate(t) if c.isspace()]
        )
        version = FileVersion("notes", name, name, "", 0, 0)
        language = guess_language(document.text)
        catalog.add_file(version, document, [(chunk, b"") for chunk in chunks], language)
    catalog.commit()
    catalog.close()
    return Catalog.open(path)


Index = Callable[[dict[str, str]], Catalog]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened: list[Catalog] = []

    def make(documents: dict[str, str]) -> Catalog:
        opened.append(build(tmp_path / f"{len(opened)}.sqlite3", documents))
        return opened[-1]

    yield make
    for catalog in opened:
        catalog.close()


def paths(catalog: Catalog, query: str, count: int = 10, **options: set[int]) -> list[str]:
    """The path of each match, best first."""
    matches = keywords.search_keywords(catalog, query, count, **options)
    chunks = catalog.chunks([match.id for match in matches])
    files = catalog.files_by_number({chunk.file for chunk in chunks.values()})
    return [files[chunks[match.id].file].path for match in matches]


@pytest.mark.parametrize(
    "identifier",
    ["HTTPServerError", "getUserID", "max_batch_size", "E-1042", "1.0.21", "v2.3.1", "kube-system",
     "C++", "C#", ".NET", "foo.py", "/etc/hosts", "ERR_TIMELINE_FORK", "sha256", "1,000",
     "ann@example.com", "https://example.com/a/b", "std::vector"],
)  # fmt: skip
def test_the_whole_identifier_comes_before_more_of_its_parts(index: Index, identifier: str) -> None:
    parts = " ".join(s for w in words(identifier, "en") for s in w.stems)
    catalog = index({
        "parts.md": f"{parts}. {parts}. {' and '.join(parts.split()[::-1])}.",
        "whole.md": f"{PARAGRAPH} As in `{identifier}`, that is.",
        "other.md": PARAGRAPH,
    })  # fmt: skip
    assert paths(catalog, identifier) == ["whole.md", "parts.md"]
    assert paths(catalog, f"what does {identifier} mean?")[0] == "whole.md"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("server error", "raise HTTPServerError(code)"),
        ("http server error", "raise HTTPServerError(code)"),
        ("batch size", "max_batch_size: 16"),
        ("1042", "it fails with E-1042"),
        ("E1042", "it fails with E-1042"),
        ("1000", "a limit of 1,000 rows"),
        ("1,000", "a limit of 1000 rows"),
        ("2.3.1", "since v2.3.1"),
        ("hosts", "edit /etc/hosts"),
        ("powershell", "In PowerShell"),
        ("servers", "a server"),
        ("cafe", "in the café"),
        ("café", "in the cafe"),
        ("Кубернетес", "про кубернетес"),
        ("ёлка", "под елкой"),
        ("東", "関東"),
        ("京", "東京都"),
        ("東京", "東京都に住む"),
        ("タワー", "東京タワーの近く"),
        ("데이터", "데이터베이스를"),
        ("C", "written in C"),
        ("the who", "who is the one"),
    ],
)
def test_a_query_finds_what_people_take_for_the_same(index: Index, query: str, text: str) -> None:
    assert paths(index({"a.md": text, "b.md": PARAGRAPH}), query)[:1] == ["a.md"]


def test_every_part_of_a_file_is_searched(index: Index) -> None:
    catalog = index({
        "runbooks/failover.md": "---\ntitle: Replicas\ntags: [postgres]\n---\n# Promotion\n\nBody.",
        "b.md": PARAGRAPH,
    })  # fmt: skip
    for query in ("failover", "runbooks", "replica", "postgres", "promotion", "body"):
        assert paths(catalog, query) == ["runbooks/failover.md"]


def test_a_title_weighs_more_than_the_text(index: Index) -> None:
    catalog = index({
        "a.md": "---\ntitle: Backups\n---\nHow it is done each night.",
        "b.md": "---\ntitle: Night work\n---\nThere are backups, how they are done.",
    })  # fmt: skip
    assert paths(catalog, "backups") == ["a.md", "b.md"]


def test_words_that_every_chunk_has_still_rank(index: Index) -> None:
    catalog = index({f"{n}.md": "agent " * n + "filler " * (6 - n) for n in range(1, 6)})
    assert paths(catalog, "agent") == ["5.md", "4.md", "3.md", "2.md", "1.md"]
    assert all(match.bm25 > 0.01 for match in keywords.search_keywords(catalog, "agent", 9))


def test_the_score_is_bm25_with_a_frequency_that_stays_above_zero(index: Index) -> None:
    catalog = index({"1.md": "alpha", "2.md": "alpha beta", "3.md": "gamma"})

    def bm25(found: int, times: float, length: int) -> float:
        mean = (5 + 7 + 5) / 3  # the stems and exact terms of path and text
        return math.log1p((3 - found + 0.5) / (found + 0.5)) * (
            times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))
        )

    # A word that is the whole query counts as it is written as much as by its stem.
    scores = [match.bm25 for match in keywords.search_keywords(catalog, "alpha", 9)]
    assert scores == pytest.approx([2 * bm25(2, 1, 5), 2 * bm25(2, 1, 7)])
    scores = [match.bm25 for match in keywords.search_keywords(catalog, "gamma beta", 9)]
    assert scores == pytest.approx([1.3 * bm25(1, 1, 5), 1.3 * bm25(1, 1, 7)])


def test_stop_words_decide_nothing_beside_other_words(index: Index) -> None:
    catalog = index({
        "stop.md": "What is it and how is it? What is the way to do it? It is as it is.",
        "word.md": f"{PARAGRAPH * 3} The quota.",
    })  # fmt: skip
    assert paths(catalog, "what is the quota?") == ["word.md"]
    assert paths(catalog, "what is it") == ["stop.md"]


def test_each_document_is_read_in_its_own_language(index: Index) -> None:
    catalog = index({
        "de.md": "Die Häuser sind mit dem Garten und der Garage für alle.",
        "en.md": "The houses are with the garden and the garage for all of us.",
        "ru.md": "Дома и сады, в которых мы живем, для всех.",
    })  # fmt: skip
    assert paths(catalog, "Was kostet das Haus mit dem Garten?") == ["de.md"]
    assert paths(catalog, "what is the house") == ["en.md"]
    assert paths(catalog, "сад и дом") == ["ru.md"]
    assert paths(catalog, "Haus") == ["de.md"]
    assert paths(catalog, "house") == ["en.md"]


def test_superseded_documents_take_no_place(index: Index) -> None:
    retired = {f"old{n}.md": "---\nlifecycle: superseded\n---\nquota quota" for n in range(9)}
    catalog = index(retired | {"new.md": f"{PARAGRAPH} The quota."})
    assert paths(catalog, "quota", 1) == ["new.md"]
    assert paths(catalog, "quota", 9) == ["new.md"]


def test_only_the_given_files_are_found(index: Index) -> None:
    catalog = index({
        "a.md": "quota quota",
        "b.md": "---\nlifecycle: superseded\n---\nquota",
        "c.md": "the quota",
    })  # fmt: skip
    numbers = {file.path: file.number for file in catalog.files()}
    assert paths(catalog, "quota", 1, files={numbers["b.md"]}) == ["b.md"]
    assert set(paths(catalog, "quota", files={numbers["b.md"], numbers["c.md"]})) == {
        "b.md", "c.md",
    }  # fmt: skip
    assert paths(catalog, "quota", files=set()) == []
    assert len(paths(catalog, "quota", files=set(range(40_000)))) == 3


def test_a_removed_file_leaves_no_term(tmp_path: Path) -> None:
    build(tmp_path / "a.sqlite3", {"a.md": "quota", "b.md": "quota 東京"}).close()
    catalog = CatalogWriter.open_copy(tmp_path / "a.sqlite3")
    assert keywords.count_chunks(catalog.connection) == 2
    catalog.remove_file(1)
    assert keywords.count_chunks(catalog.connection) == 1
    assert paths(catalog, "quota") == ["b.md"]
    catalog.remove_file(2)
    assert paths(catalog, "quota 東京") == []
    catalog.connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    catalog.close()


SYNTAX = [
    '"', "*", "-", "(", ")", "^", ":", "NEAR(a b)", "a=b", "don't", "50%", "@x", "title:foo",
    "a AND b", "a OR", "NOT", 'foo"bar', '" OR "a', "{a b}: c", "a + b", "a*", "^a", "-- x",
    "'; DROP TABLE words; --", "\0", "a\0b", "\ud800", "%s ? :x", "exact : a", "- exact",
]  # fmt: skip


TEXTS = {"a.md": "alpha and near", "b.md": "title foo bar", "c.md": "don't use 50% of x"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = build(tmp_path_factory.mktemp("small") / "a.sqlite3", TEXTS)
    yield catalog
    catalog.close()


def stems(text: str) -> set[str]:
    """The stems of the words that tell something, or of all if none does."""
    found = list(words(text, "en"))
    return {s for w in [w for w in found if not w.stop] or found for s in w.stems}


@pytest.mark.parametrize("query", SYNTAX)
def test_a_query_of_any_signs_finds_what_has_its_words_and_nothing_else(
    small: Catalog, query: str
) -> None:
    indexed = {
        name: {s for w in words(f"{name} {text}", "en") for s in w.stems}
        for name, text in TEXTS.items()
    }
    having = {name for name, found in indexed.items() if found & stems(query)}
    assert set(paths(small, query)) == having


def test_operators_are_words(small: Catalog) -> None:
    assert paths(small, "alpha NOT near") == ["a.md"]
    assert set(paths(small, "alpha AND foo")) == {"a.md", "b.md"}
    assert paths(small, "NEAR") == ["a.md"]
    assert paths(small, "title : foo") == ["b.md"]
    assert paths(small, "alph*") == []
    assert paths(small, '"foo title"') == ["b.md"]


@given(st.text(st.characters(exclude_categories=())))
def test_no_query_ever_fails(small: Catalog, query: str) -> None:
    for text in (query, f"{query} alpha", f'"{query}'):
        matches = keywords.search_keywords(small, text, 5)
        assert all(math.isfinite(match.bm25) and match.bm25 > 0 for match in matches)
    assert "a.md" in paths(small, f"{query} alpha")


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_expressions_are_quoted_strings_and_column_filters_alone(query: str) -> None:
    for expression in keywords.weighted_terms(query, ["en", "ja"]):
        columns, _, rest = expression.partition(" : ")
        assert columns in {"- exact", "exact"}
        assert rest.count('"') == 2
        assert rest[0] == '"'
        assert rest.rstrip(" *")[-1] == '"'


def test_a_name_as_it_is_written_is_worth_more_than_its_parts_side_by_side(index: Index) -> None:
    catalog = index(
        {
            "exact.md": "It answers with status_code alone.",
            "inside.md": "It answers with statusCode alone.",
            "call.md": "It answers with a.status_code() alone.",
            "words.md": "The code has a status.",
        }
    )

    def named(query: str) -> dict[str, float]:
        matches = keywords.search_keywords(catalog, query, 9)
        return {paths_of(catalog, match.id): match.named for match in matches}

    assert named("status_code") == {
        "exact.md": 2.0,
        "inside.md": 1.0,
        "call.md": 1.0,
        "words.md": 0.0,
    }
    among = named("what does status_code mean")
    assert (among["exact.md"], among["inside.md"]) == (keywords.NAME_BONUS, keywords.NAME_BONUS / 2)


def paths_of(catalog: Catalog, id_: str) -> str:
    (chunk,) = catalog.chunks([id_]).values()
    return catalog.files_by_number({chunk.file})[chunk.file].path
