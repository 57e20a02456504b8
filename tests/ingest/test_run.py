from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest

from local_rag.corpus.safe_open import FileContent, SafeFolder
from local_rag.corpus.scan import FileVersion
from local_rag.corpus.skipped import SkipKind
from local_rag.documents import document
from local_rag.errors import CorpusUnavailable, EmbedderAway, EmbedderChanged, IngestRunning
from local_rag.index.catalog import Catalog
from local_rag.index.snapshots import Store
from local_rag.index.vector_index import VectorIndex
from local_rag.ingest.loader import DocumentLoader
from local_rag.ingest.snapshot_writer import SnapshotWriter
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama, Refusal

LONG = "\n\n".join(
    f"## Section {n}\n\n" + " ".join(f"w{n}x{k}" for k in range(60)) for n in range(6)
)


def indexed(store: Store) -> dict[str, tuple[str, int]]:
    """Each indexed path with its lifecycle and its number of chunks; both indexes agree."""
    snapshot = store.current()
    catalog = Catalog.open(snapshot.catalog)
    found = {f.path: (f.lifecycle, len(catalog.chunks_of(f.number))) for f in catalog.files()}
    assert catalog.count("chunks") == snapshot.manifest.chunks
    catalog.close()
    if snapshot.manifest.identity.dimension:
        vectors = VectorIndex.open(snapshot.chroma)
        vectors.verify(snapshot.manifest.chunks)
        vectors.close()
    return found


def refuse(word: str, status: int = 400, message: str = "bad text") -> object:
    def before(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise Refusal(status, message)

    return before


def test_a_first_run_indexes_every_document(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "# A\n\nalpha\n")
    corpus.write("sub/b.md", LONG)
    report = run()
    assert (report.new, report.embedder, report.exit_code) == (2, "ollama/embeddinggemma", 0)
    assert indexed(store) == {"a.md": ("active", 1), "sub/b.md": ("active", 6)}
    assert ollama.documents[0] == "title: A | text: # A\n\nalpha"


def test_a_run_without_changes_embeds_nothing_and_publishes_nothing(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    before, name = len(ollama.documents), store.current_name()
    report = run()
    assert len(ollama.documents) == before
    assert (report.unchanged, report.published) == (1, "")
    assert store.current_name() == name


def test_one_edited_paragraph_embeds_one_chunk(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    before = len(ollama.documents)
    corpus.write("a.md", LONG.replace("w3x7", "edited"))
    report = run()
    assert len(ollama.documents) - before == report.embedded == 1
    assert "edited" in ollama.documents[-1]
    assert indexed(store) == {"a.md": ("active", 6)}


def test_a_renamed_file_embeds_nothing(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG).rename(corpus.path / "a.md")
    run()
    before = len(ollama.documents)
    (corpus.path / "sub").mkdir()
    (corpus.path / "a.md").rename(corpus.path / "sub" / "z.md")
    report = run()
    assert (report.renamed, report.deleted, len(ollama.documents)) == (1, 0, before)
    assert indexed(store) == {"sub/z.md": ("active", 6)}


def test_a_rename_embeds_nothing_even_without_the_cache(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    before = len(ollama.documents)
    store.cache.unlink()
    (corpus.path / "a.md").rename(corpus.path / "b.md")
    run()
    assert len(ollama.documents) == before
    assert indexed(store) == {"b.md": ("active", 6)}


def test_a_deleted_file_leaves_the_index(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    corpus.write("b.md", "beta").unlink()
    corpus.write("b.md", "beta")
    run()
    (corpus.path / "b.md").unlink()
    assert run().deleted == 1
    assert indexed(store) == {"a.md": ("active", 1)}


def test_a_file_whose_embedding_fails_keeps_its_old_chunks(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    corpus.write("b.md", "beta")
    run()
    corpus.write("a.md", "alpha poison")
    corpus.write("b.md", "beta gamma")
    ollama.before_embed = refuse("poison")
    report = run()
    assert [(r.path, r.text) for r in report.failed] == [
        ("a.md", "lines 1-1: Ollama refused a text (bad text).")
    ]
    assert report.exit_code == 1
    catalog = Catalog.open(store.current().catalog)
    assert [catalog.text(f.number) for f in catalog.files()] == ["alpha", "beta gamma"]
    assert store.current().manifest.pending == 1


def test_one_poisonous_text_costs_its_own_file_alone(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for n in range(20):
        corpus.write(f"{n:02}.md", f"note {n} {'poison' if n == 7 else ''}")
    ollama.before_embed = refuse("poison", 500, "llama runner process has terminated")
    report = run()
    assert [r.path for r in report.failed] == ["07.md"]
    assert len(indexed(store)) == 19


def test_a_text_that_is_too_long_is_cut_and_none_of_it_is_lost(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    def limit(texts: Sequence[str]) -> None:
        if any(len(text) > 150 for text in texts):
            raise Refusal(400, "the input length exceeds the context length")

    text = " ".join(f"word{n}" for n in range(60))
    corpus.write("a.md", text)
    ollama.before_embed = limit
    assert run().exit_code == 0
    catalog = Catalog.open(store.current().catalog)
    chunks = catalog.chunks_of(catalog.files()[0].number)
    assert " ".join(chunk.text for chunk in chunks) == text
    assert len(chunks) > 2


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors: [[0.0] * len(v) for v in vectors],
        lambda vectors: vectors[:-1],
        lambda vectors: [v[:-1] for v in vectors],
        lambda vectors: [[2 * x for x in v] for v in vectors],
    ],
    ids=["zeros", "one too few", "wrong dimension", "not of length one"],
)
def test_vectors_that_cannot_be_trusted_are_never_stored(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, change: object
) -> None:
    corpus.write("a.md", "alpha")
    run()
    corpus.write("a.md", "beta")
    ollama.change_vectors = change  # type: ignore[assignment]
    report = run()
    assert report.exit_code == 1
    catalog = Catalog.open(store.current().catalog)
    assert [catalog.text(f.number) for f in catalog.files()] == ["alpha"]


def test_an_embedder_that_stops_half_way_loses_nothing_and_the_rest_is_named(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for n in range(30):
        corpus.write(f"{n:02}.md", f"note number {n}")

    def stop_after_two_batches(texts: Sequence[str]) -> None:
        if len(ollama.documents) > 16:
            ollama.present = False
            raise Refusal(404, "model not found")

    ollama.before_embed = stop_after_two_batches
    report = run()
    assert (report.new, len(report.failed), report.exit_code) == (16, 14, 1)
    assert "ollama pull embeddinggemma" in report.failed[0].text
    assert len(indexed(store)) == 16
    ollama.present, ollama.before_embed = True, lambda texts: None
    ollama.texts.clear()
    report = run()
    assert (report.new, report.unchanged, report.exit_code) == (14, 16, 0)
    assert len(ollama.documents) == 14


def test_other_languages_index_everything_anew_without_embedding(
    corpus: Corpus, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.texts.clear()
    monkeypatch.setenv("RAG_LANGUAGES", "de")
    assert (run().changed, ollama.documents) == (1, [])
    assert run().unchanged == 1


@pytest.mark.parametrize("state", ["stopped", "without the model"])
def test_retiring_a_document_never_waits_for_the_embedder(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, state: str
) -> None:
    corpus.write("a.md", "# A\n\nalpha\n")
    corpus.write("b.md", "# B\n\nbeta\n")
    corpus.write("c.md", "# C\n\ngamma\n")
    run()
    if state == "stopped":
        ollama.stop()
    ollama.present = False
    corpus.write("a.md", "---\nlifecycle: Superseded\n---\n# A\n\nalpha and something new\n")
    (corpus.path / "b.md").unlink()
    corpus.write("c.md", "---\nrag: false\n---\n# C\n\ngamma\n")
    corpus.write("new.md", "delta")
    report = run()
    assert [r.path for r in report.failed] == ["a.md", "new.md"]
    assert report.exit_code == 1
    assert indexed(store) == {"a.md": ("superseded", 1)}


def test_a_document_only_marked_superseded_needs_no_embedding(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "---\ntitle: A\n---\nalpha\n")
    run()
    ollama.stop()
    corpus.write("a.md", "---\ntitle: A\nlifecycle: superseded\n---\nalpha\n")
    report = run()
    assert (report.failed, report.exit_code) == ([], 1)  # Ollama is away: that needs a person
    assert report.notices[-1].startswith(
        "Searches find keywords only for now: Ollama is not running"
    )
    assert indexed(store) == {"a.md": ("superseded", 1)}


def test_without_ollama_a_new_english_store_uses_the_built_in_embedder(
    corpus: Corpus, store: Store, run: Run
) -> None:
    corpus.write("a.md", "The quick brown fox is at the door, and it is hungry.")
    report = run()
    assert report.embedder == "builtin/all-MiniLM-L6-v2-int8"
    assert "ollama pull embeddinggemma, then ingest.py --rebuild" in report.notices[0]


def test_without_ollama_a_new_store_in_another_language_has_keywords_alone(
    corpus: Corpus, store: Store, run: Run
) -> None:
    corpus.write("a.md", "Это заметка о том, как мы обновляем базу данных и что не надо делать.")
    report = run()
    assert report.embedder == "none"
    assert report.notices[0].startswith("Keyword search only")
    assert indexed(store) == {"a.md": ("active", 1)}


def test_an_existing_store_stays_in_its_own_identity(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha")
    run()
    monkeypatch.setenv("RAG_EMBEDDER", "builtin")
    with pytest.raises(EmbedderChanged, match="built with ollama/embeddinggemma"):
        run()
    assert run(rebuild=True).embedder == "builtin/all-MiniLM-L6-v2-int8"
    assert indexed(store) == {"a.md": ("active", 1)}


def test_other_weights_under_the_same_name_are_not_mixed_in(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    ollama.digest = "b" * 64
    corpus.write("b.md", "beta")
    report = run()
    assert [r.path for r in report.failed] == ["b.md"]
    assert "--rebuild" in report.failed[0].text
    assert run(rebuild=True).exit_code == 0
    assert len(indexed(store)) == 2


def test_a_rebuild_never_goes_back_to_something_worse(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    name = store.current_name()
    ollama.stop()
    with pytest.raises(EmbedderAway, match="Ollama is not running"):
        run(rebuild=True)
    assert store.current_name() == name


def test_a_rebuild_that_breaks_off_leaves_the_live_index(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for n in range(12):
        corpus.write(f"{n:02}.md", f"note {n}")
    run()
    name = store.current_name()
    ollama.digest = "b" * 64
    ollama.before_embed = refuse("note 11", 404, "gone")
    with pytest.raises(EmbedderAway, match="The index is as it was"):
        run(rebuild=True)
    assert store.current_name() == name
    assert len(indexed(store)) == 12


def test_a_rebuild_in_the_same_identity_costs_no_embedding(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    before = len(ollama.documents)
    report = run(rebuild=True)
    assert (report.new, report.embedded) == (1, 0)
    assert len(ollama.documents) == before


def test_a_dry_run_says_what_it_would_do_and_creates_nothing(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    report = run(dry_run=True)
    assert (report.new, report.embedded, ollama.documents) == (1, 6, [])
    assert not store.path.exists()


def test_a_dry_run_counts_only_what_has_no_vector_yet(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    corpus.write("a.md", LONG.replace("w3x7", "edited"))
    report = run(dry_run=True)
    assert (report.changed, report.embedded, report.published) == (1, 1, "")


def test_two_ingests_at_once_are_one_and_a_refusal(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    with (
        SnapshotWriter(store).lock(),
        pytest.raises(IngestRunning, match="Another ingest is running"),
    ):
        run()
    assert run().new == 1


def test_a_missing_folder_is_no_empty_corpus(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    (corpus.path / "a.md").unlink()
    with pytest.raises(CorpusUnavailable, match="--allow-empty"):
        run()
    corpus.path.rmdir()
    with pytest.raises(CorpusUnavailable, match="cannot be read"):
        run()
    assert indexed(store) == {"a.md": ("active", 1)}
    corpus.path.mkdir()
    assert run(allow_empty=True).deleted == 1
    assert indexed(store) == {}


def test_a_new_store_of_no_documents_is_refused(corpus: Corpus, store: Store, run: Run) -> None:
    with pytest.raises(CorpusUnavailable, match="no documents"):
        run()


def test_a_file_that_cannot_be_read_now_stays_in_the_index(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = corpus.write("a.md", "alpha")
    corpus.write("b.md", "beta")
    run()

    real = SafeFolder.read

    def fail(files: SafeFolder, location: str, max_bytes: int) -> FileContent:
        if location == str(file):
            raise PermissionError(13, "Permission denied")
        return real(files, location, max_bytes)

    monkeypatch.setattr(SafeFolder, "read", fail)
    report = run()
    assert [(s.path, s.text) for s in report.skipped] == [("a.md", "unreadable: Permission denied")]
    assert report.exit_code == 1
    assert set(indexed(store)) == {"a.md", "b.md"}


def test_many_edits_do_not_let_deleted_rows_pile_up(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_rag.ingest.draft.FEW_CHUNKS", 5)
    corpus.write("a.md", "one text")
    for n in range(14):
        corpus.write("b.md", f"edit number {n}")
        run()
    assert store.current().manifest.slots <= 12
    assert indexed(store) == {"a.md": ("active", 1), "b.md": ("active", 1)}


def test_a_damaged_cache_costs_embedding_again_and_no_more(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", "alpha")
    run()
    store.cache.write_bytes(b"this is no database at all" * 100)
    corpus.write("b.md", "beta")
    assert run().exit_code == 0
    assert set(indexed(store)) == {"a.md", "b.md"}
    kept = sqlite3.connect(store.cache).execute("SELECT count(*) FROM vectors").fetchone()
    assert kept == (2,)  # the new file's and the known sentence's


def test_a_damaged_snapshot_is_built_anew_from_the_cache(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    corpus.write("a.md", LONG)
    run()
    before = len(ollama.documents)
    (store.current().chroma / "chroma.sqlite3").write_bytes(b"damaged")
    report = run()
    assert "This run repairs it" in report.notices[0]
    assert len(ollama.documents) == before
    assert indexed(store) == {"a.md": ("active", 6)}


def test_nothing_that_is_not_the_indexs_own_is_ever_removed_from_the_stores_folder(
    corpus: Corpus, store: Store, run: Run
) -> None:
    own = Corpus(store.path)
    theirs = [
        own.write("CURRENT.old", "a backup"),
        own.write("snapshots/holiday/photo.jpg", "photo"),
        own.write("snapshots/20240101T000000Z/manifest.json", "{}"),
        own.write("snapshots/readme.txt", "of somebody's backups"),
    ]
    left = own.write("snapshots/20240101T000000000000Z-0a1b2c/keywords.sqlite3", "of a killed run")
    left_pointer = own.write("CURRENT.0a1b2c", "of a killed run")
    corpus.write("a.md", "# A\n")
    published = run().published
    corpus.write("a.md", "# B\n")
    assert run().published > published
    assert [path.exists() for path in theirs] == [True] * 4
    assert not left.exists() and not left_pointer.exists()


def test_whatever_happens_to_one_file_costs_that_file_alone(
    corpus: Corpus, ollama: FakeOllama, run: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("a.md", "alpha\n")
    corpus.write("b.md", "beta\n")
    run()
    corpus.write("a.md", "alpha two\n")
    corpus.write("b.md", "beta two\n")
    corpus.write("c.md", "gamma\n")
    real = DocumentLoader.read

    def read(self: DocumentLoader, found: FileVersion, data: bytes) -> object:
        if found.path != "c.md":
            raise ZeroDivisionError(data.decode())
        return real(self, found, data)

    monkeypatch.setattr(DocumentLoader, "read", read)
    report = run()
    assert [(s.path, s.kind, s.text) for s in report.skipped] == [
        ("a.md", SkipKind.FAILED, "unexpected failure: ZeroDivisionError"),
        ("b.md", SkipKind.FAILED, "unexpected failure: ZeroDivisionError"),
    ]
    assert (report.new, report.deleted, report.files, report.exit_code) == (1, 0, 3, 1)
    monkeypatch.undo()


def test_a_file_that_cannot_be_read_has_no_say_in_the_choice_of_the_embedder(
    corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.write("odd.md", "odd\n")
    corpus.write("fine.md", "The tide table is in the boathouse.\n")
    stumble(monkeypatch, b"odd\n")
    report = run()
    assert (report.embedder, report.files) == ("builtin/all-MiniLM-L6-v2-int8", 1)
    assert [(s.path, s.text) for s in report.skipped] == [
        ("odd.md", "unexpected failure: ZeroDivisionError")
    ]


def stumble(monkeypatch: pytest.MonkeyPatch, over: bytes) -> None:
    """Makes the parser fail on these bytes in a way that nobody planned for."""
    real = document.decode

    def decode(data: bytes) -> tuple[str, str]:
        if data == over:
            raise ZeroDivisionError
        return real(data)

    monkeypatch.setattr(document, "decode", decode)
