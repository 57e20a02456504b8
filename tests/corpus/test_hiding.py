"""What hides documents fails closed: what cannot be decided is not shown, and is named."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local_rag.corpus import git
from local_rag.corpus.gitignore import Ignores, parse_ignores
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.index.catalog import Catalog
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Report
from tests.conftest import Corpus, Run
from tests.corpus.test_git import commit
from tests.corpus.test_walk import make, repository, run_git
from tests.fake_ollama import FakeOllama

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX modes and links")
UNTRUSTED = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away"
)
Break = Callable[[Path, pytest.MonkeyPatch], None]


def indexed(store: Store) -> set[str]:
    """The documents of the live index."""
    catalog = Catalog.open(store.current().catalog)
    try:
        return {entry.path for entry in catalog.entries()}
    finally:
        catalog.close()


def troubles(report: Report) -> list[tuple[str, SkipKind]]:
    """What the run names as failed, by path."""
    return [(skipped.path, skipped.kind) for skipped in report.skipped if skipped.wanted]


def no_path(top: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PATH", str(top / "nowhere"))


def damaged_index(top: Path, patch: pytest.MonkeyPatch) -> None:
    (top / ".git" / "index").write_bytes(b"garbage")


def damaged_head(top: Path, patch: pytest.MonkeyPatch) -> None:
    (top / ".git" / "HEAD").unlink()


def damaged_settings(top: Path, patch: pytest.MonkeyPatch) -> None:
    (top / ".git" / "config").write_bytes(b"[core\n")


def slow(top: Path, patch: pytest.MonkeyPatch) -> None:
    def late(command: list[str], **options: float) -> None:
        raise subprocess.TimeoutExpired(command, options["timeout"])

    patch.setattr(git.subprocess, "run", late)


def foreign(top: Path, patch: pytest.MonkeyPatch) -> None:
    for place in (top, top / ".git"):
        os.chown(place, 12345, 12345)


def linked_exclude(top: Path, patch: pytest.MonkeyPatch) -> None:
    (top / ".git" / "info" / "exclude").unlink()
    (top / ".git" / "info" / "exclude").mkdir()


def global_in_utf16(top: Path, patch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["HOME"])
    (home / "global-ignores").write_bytes("*.globally.md\n".encode("utf-16"))


def gitignore_above_is_a_folder(top: Path, patch: pytest.MonkeyPatch) -> None:
    (top / ".gitignore").unlink()
    (top / ".gitignore").mkdir()


WAYS = [
    no_path, damaged_index, damaged_head, damaged_settings, slow, linked_exclude, global_in_utf16,
    pytest.param(foreign, marks=UNTRUSTED),
]  # fmt: skip
VISIBLE = {
    ".github/guide.md", "a.md", "deep/z.md", "drafts/forced.md", "node_modules/n.md",
    "sub/deep/kept.md", "sub/forced.md", "sub/kept.md",
}  # fmt: skip


@pytest.fixture
def top(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with every place that git takes rules from; the whole of it is the corpus."""
    return repository(corpus.path, tmp_path, monkeypatch)


@pytest.mark.parametrize("way", WAYS)
def test_what_git_cannot_decide_stays_as_it_was_and_nothing_new_is_shown(
    top: Path,
    store: Store,
    ollama: FakeOllama,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    way: Break,
) -> None:
    run()
    assert indexed(store) == VISIBLE
    make(top, "new.md", "drafts/secret.md", text="new\n")
    make(top, "a.md", text="changed\n")
    with monkeypatch.context() as patch:
        way(top, patch)
        report = run()
    assert (indexed(store), report.exit_code) == (VISIBLE, 1)
    assert troubles(report) == [("./", SkipKind.UNREADABLE)]


@pytest.mark.parametrize("way", WAYS)
def test_what_no_run_has_decided_is_not_shown(
    top: Path,
    store: Store,
    ollama: FakeOllama,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    way: Break,
) -> None:
    with monkeypatch.context() as patch:
        way(top, patch)
        report = run()
    assert (indexed(store), report.exit_code) == (set(), 1)
    assert troubles(report) == [("./", SkipKind.UNREADABLE)]


@pytest.mark.parametrize("way", [*WAYS, gitignore_above_is_a_folder])
def test_a_root_below_the_top_is_no_different(
    top: Path,
    store: Store,
    ollama: FakeOllama,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    way: Break,
) -> None:
    monkeypatch.setenv("RAG_CORPUS_DIR", str(top / "sub"))
    run()
    assert indexed(store) == {"deep/kept.md", "forced.md", "kept.md"}
    with monkeypatch.context() as patch:
        way(top, patch)
        report = run()
    assert (indexed(store), report.exit_code) == ({"deep/kept.md", "forced.md", "kept.md"}, 1)
    assert troubles(report) == [("./", SkipKind.UNREADABLE)]


@pytest.mark.parametrize("way", [damaged_index, damaged_head, damaged_settings, linked_exclude])
def test_a_repository_inside_costs_itself_alone(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, way: Break,
) -> None:  # fmt: skip
    make(corpus.path, "plain.md")
    (corpus.path / "inner").mkdir()
    run_git(corpus.path, "init", "-q")
    repository(corpus.path / "inner", tmp_path, monkeypatch)
    way(corpus.path / "inner", monkeypatch)
    report = run()
    assert indexed(store) == {"plain.md"}
    assert troubles(report) == [("inner/", SkipKind.UNREADABLE)]


def test_the_same_comes_back_once_git_can_decide_again(
    top: Path, store: Store, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    make(top, "new.md", text="new\n")
    with monkeypatch.context() as patch:
        no_path(top, patch)
        run()
    report = run()
    assert (indexed(store), report.exit_code) == (VISIBLE | {"new.md"}, 0)


@pytest.mark.parametrize(
    ("way", "why", "remedy"),
    [
        (no_path, "git cannot be started (not found on PATH)", "Install git"),
        (slow, "git took longer than 60 s", "Run ingest.py again."),
        (damaged_index, "git fails (fatal: .git/index", "Repair the repository"),
        (linked_exclude, "info/exclude is a folder", "Replace it with a plain text file"),
        (global_in_utf16, "global-ignores is not UTF-8", "Save it as UTF-8."),
        pytest.param(foreign, "git fails (fatal: detected dubious ownership",
                     "run: git config --global --add safe.directory", marks=UNTRUSTED),
    ],
)  # fmt: skip
def test_why_git_cannot_decide_is_named_with_its_remedy(
    top: Path, ollama: FakeOllama, run: Run, monkeypatch: pytest.MonkeyPatch,
    way: Break, why: str, remedy: str,
) -> None:  # fmt: skip
    way(top, monkeypatch)
    (skipped,) = [s for s in run().skipped if s.wanted]
    assert (skipped.root, skipped.path) == ("notes", "./")
    assert skipped.reason == "git cannot tell what to leave out"
    assert why in skipped.detail and remedy in skipped.detail


def test_without_a_home_variable_the_global_ignore_file_still_holds(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make(corpus.path, "a.md", "b.private.md")
    run_git(corpus.path, "init", "-q")
    home = make(tmp_path / "account", ".config/git/ignore", text="*.private.md\n")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path.replace("~", str(home)))
    run()
    assert indexed(store) == {"a.md"}


def unusable(kind: str, place: Path) -> None:
    """Puts something in the place of an ignore file that cannot be used as one."""
    contents = {
        "UTF-16": "private.md\n".encode("utf-16"),
        "UTF-16 without a mark": "private.md\n".encode("utf-16-le"),
        "Latin-1": "gehälter.md\n".encode("latin-1"),
        "too large": b"private.md\n" * 100_000,
    }
    place.unlink(missing_ok=True)
    if kind in contents:
        place.write_bytes(contents[kind])
    elif kind == "a folder":
        place.mkdir()
    elif kind == "a link":
        make(place.parent / "elsewhere", "rules.txt", text="private.md\n")
        place.symlink_to(place.parent / "elsewhere" / "rules.txt")
    elif kind == "a link to nothing":
        place.symlink_to(place.parent / "nowhere")
    elif kind == "a pipe":
        os.mkfifo(place)
    else:
        place.write_bytes(b"private.md\n")
        place.chmod(0)


NO_LINKS = [
    "UTF-16", "UTF-16 without a mark", "Latin-1", "too large", "a folder",
    pytest.param("a pipe", marks=POSIX),
    pytest.param("closed", marks=pytest.mark.skipif(
        sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")),
]  # fmt: skip
KINDS = [
    *NO_LINKS, pytest.param("a link", marks=POSIX), pytest.param("a link to nothing", marks=POSIX),
]  # fmt: skip


@pytest.mark.parametrize("indexed_before", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_ragignore_that_cannot_be_used_hides_its_folder(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, kind: str, indexed_before: bool
) -> None:
    make(corpus.path, "a.md", "sub/b.md", "sub/private.md", "sub/deep/c.md")
    if indexed_before:
        run()
    unusable(kind, corpus.path / "sub" / ".ragignore")
    report = run()
    assert (indexed(store), report.exit_code) == ({"a.md"}, 1)
    assert troubles(report) == [("sub/", SkipKind.UNDECIDED)]


@pytest.mark.parametrize("kind", ["UTF-16", "a folder", "a link"])
def test_a_ragignore_of_the_whole_root_hides_it(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, kind: str
) -> None:
    make(corpus.path, "a.md", "sub/b.md")
    run()
    unusable(kind, corpus.path / ".ragignore")
    report = run()
    assert (indexed(store), report.exit_code) == (set(), 1)
    assert troubles(report) == [("./", SkipKind.UNDECIDED)]


@pytest.mark.parametrize("kind", NO_LINKS)
def test_a_ragignore_beside_the_store_that_cannot_be_used_hides_everything(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, kind: str
) -> None:
    make(corpus.path, "a.md")
    run()
    unusable(kind, store.path.parent / ".ragignore")
    report = run()
    assert (indexed(store), report.exit_code) == (set(), 1)
    assert troubles(report) == [("./", SkipKind.UNDECIDED)]


@POSIX
def test_a_ragignore_beside_the_store_may_be_a_link(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    make(corpus.path, "a.md", "private.md")
    unusable("a link", store.path.parent / ".ragignore")
    assert (run().exit_code, indexed(store)) == (0, {"a.md"})


@pytest.mark.parametrize("kind", ["UTF-16", "a folder", *KINDS[-3:]])
def test_a_gitignore_that_git_would_not_obey_hides_its_folder(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run, kind: str
) -> None:
    make(corpus.path, "a.md", "sub/b.md", "sub/private.md")
    run_git(corpus.path, "init", "-q")
    commit(corpus.path)
    unusable(kind, corpus.path / "sub" / ".gitignore")
    report = run()
    assert (indexed(store), report.exit_code) == ({"a.md"}, 1)
    assert troubles(report) == [("sub/", SkipKind.UNDECIDED)]


def test_why_a_folder_is_hidden_is_named_with_its_remedy(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    make(corpus.path, "a.md", "sub/b.md")
    unusable("UTF-16", corpus.path / "sub" / ".ragignore")
    assert [s for s in run().skipped if s.wanted] == [
        SkippedFile(
            "notes", "sub/", SkipKind.UNDECIDED, "nobody can tell what to leave out",
            ".ragignore is not UTF-8. Save it as UTF-8.",
        )
    ]  # fmt: skip


def test_an_emptied_root_is_still_no_deletion_when_another_folder_is_hidden(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    make(corpus.path, "a.md")
    run()
    (corpus.path / "a.md").unlink()
    make(corpus.path, "sub/b.md")
    unusable("UTF-16", corpus.path / "sub" / ".ragignore")
    with pytest.raises(Exception, match="holds no documents, but the index has some from it"):
        run()
    assert indexed(store) == {"a.md"}


def test_an_ignore_file_of_many_lines_is_obeyed_and_the_last_match_counts() -> None:
    lines = [f"secret{n}.md" for n in range(5_000)] + ["!secret7.md"]
    file, bad = parse_ignores("\n".join(lines).encode(), "")
    ignores = Ignores((file,))
    assert bad == []
    left_out = [n for n in range(5_001) if ignores.reason(f"secret{n}.md", is_folder=False)]
    assert left_out == [n for n in range(5_000) if n != 7]
