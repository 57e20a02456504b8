"""Which files are documents: git's word, ignore files, links, and what stays named."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from local_rag.corpus import git
from local_rag.corpus.gitignore import Ignores, ignores_beside, parse_ignores
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.corpus.walk import FoundFile, WalkScope, walk
from local_rag.settings import Root

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX file names and links")


def make(folder: Path, *paths: str, text: str = "text\n") -> Path:
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def run_git(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout


def found(folder: Path, scope: WalkScope | None = None) -> list[str]:
    items = walk(Root("r", folder), scope or WalkScope())
    return [item.path for item in items if isinstance(item, FoundFile)]


def skipped(folder: Path, scope: WalkScope | None = None) -> dict[str, str]:
    items = walk(Root("r", folder), scope or WalkScope())
    return {item.path: item.text for item in items if isinstance(item, SkippedFile)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "corpus"
    folder.mkdir()
    return folder


def test_outside_git_hidden_files_and_built_in_folders_are_left_out_and_named(root: Path) -> None:
    make(root, "a.md", "sub/README", ".hidden.md", ".obsidian/b.md", "node_modules/c.md", "d.bin")
    assert found(root) == ["a.md", "sub/README"]
    assert skipped(root) == {
        ".hidden.md": "hidden file",
        ".obsidian/": "excluded folder",
        "node_modules/": "excluded folder",
        "d.bin": "not a document format",
    }


def repository(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with every place that git takes ignore rules from."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    make(home, "global-ignores", text="*.globally.md\n")
    (home / ".gitconfig").write_text(f"[core]\nexcludesFile = {home / 'global-ignores'}\n")
    run_git(root, "init", "-q")
    make(root, ".gitignore", text="drafts/\n*.tmp.md\n/top.md\n")
    make(root, "sub/.gitignore", text="*.md\n!kept.md\n")
    make(root, ".git/info/exclude", text="private.md\n")
    make(
        root, "a.md", "top.md", "sub/top.md", "sub/kept.md", "x.tmp.md", "drafts/d.md",
        "private.md", "deep/y.globally.md", "deep/z.md", "node_modules/n.md", ".github/guide.md",
        "sub/deep/kept.md", "drafts/forced.md", "sub/forced.md",
    )  # fmt: skip
    run_git(root, "add", "-f", "a.md", ".github/guide.md", "drafts/forced.md", "sub/forced.md")
    run_git(root, "commit", "-q", "-m", "start")
    return root


def test_in_a_repository_the_documents_are_those_that_git_lists(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(root, tmp_path, monkeypatch)
    listed = run_git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    documents = sorted(p for p in listed.decode().split("\0") if p.endswith(".md"))
    assert found(root) == documents
    assert documents == [
        ".github/guide.md", "a.md", "deep/z.md", "drafts/forced.md", "node_modules/n.md",
        "sub/deep/kept.md", "sub/forced.md", "sub/kept.md",
    ]  # fmt: skip


def test_ragignore_takes_from_what_git_lists_and_can_add_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(root, tmp_path, monkeypatch)
    make(root, ".ragignore", text="node_modules/\n*kept.md\n!private.md\n")
    make(root, "sub/deep/.ragignore", text="!kept.md\n")
    assert found(root) == [
        ".github/guide.md", "a.md", "deep/z.md", "drafts/forced.md", "sub/deep/kept.md",
        "sub/forced.md",
    ]  # fmt: skip
    assert skipped(root) == {
        ".git/": "excluded folder",
        ".gitignore": "not a document format",
        ".ragignore": "not a document format",
        "deep/y.globally.md": "ignored by git",
        "drafts/d.md": "ignored by git",
        "node_modules/": "left out by .ragignore",
        "private.md": "ignored by git",
        "sub/.gitignore": "not a document format",
        "sub/deep/.ragignore": "not a document format",
        "sub/kept.md": "left out by .ragignore",
        "sub/top.md": "ignored by git",
        "top.md": "ignored by git",
        "x.tmp.md": "ignored by git",
    }


def test_a_root_inside_a_repository_obeys_the_ignore_files_above_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(root, tmp_path, monkeypatch)
    assert found(root / "sub") == ["deep/kept.md", "forced.md", "kept.md"]


def test_a_folder_that_the_repository_around_it_ignores_is_walked(root: Path) -> None:
    run_git(root, "init", "-q")
    make(root, ".gitignore", text="*\n")
    make(root, "notes/a.md", "notes/.hidden.md")
    assert found(root / "notes") == ["a.md"]


def test_repositories_inside_are_listed_by_their_own_rules(root: Path) -> None:
    run_git(root, "init", "-q")
    make(root, "a.md", "inner/b.md", "inner/ignored.md", "other/c.md")
    run_git(root / "inner", "init", "-q")
    make(root, "inner/.gitignore", text="ignored.md\n")
    assert found(root) == ["a.md", "inner/b.md", "other/c.md"]


def test_a_repository_in_a_plain_folder_is_listed_by_git(root: Path) -> None:
    make(root, "a.md", "project/b.md", "project/ignored.md")
    run_git(root / "project", "init", "-q")
    make(root, "project/.gitignore", text="ignored.md\n")
    assert found(root) == ["a.md", "project/b.md"]
    assert skipped(root)["project/ignored.md"] == "ignored by git"


def test_a_submodule_is_entered(root: Path, tmp_path: Path) -> None:
    source = make(tmp_path / "source", "s.md")
    run_git(source, "init", "-q")
    run_git(source, "add", ".")
    run_git(source, "commit", "-q", "-m", "start")
    run_git(root, "init", "-q")
    allow = ("-c", "protocol.file.allow=always")
    run_git(root, *allow, "submodule", "--quiet", "add", str(source), "module")
    assert found(root) == ["module/s.md"]


def test_without_git_nothing_of_a_repository_is_shown(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(root, tmp_path, monkeypatch)
    monkeypatch.setattr(git.subprocess, "run", _no_git)
    assert (found(root), set(skipped(root))) == ([], {"./"})
    make(root.parent / "around", "a.md")
    root.rename(root.parent / "around" / "corpus")
    assert found(root.parent / "around") == ["a.md"]


def _no_git(*_: object, **__: object) -> None:
    raise FileNotFoundError("git")


def test_a_tracked_file_that_is_deleted_is_no_document(root: Path) -> None:
    make(root, "a.md", "b.md")
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    (root / "b.md").unlink()
    assert found(root) == ["a.md"]


def test_the_ignore_file_beside_the_store_holds_for_every_root(root: Path, tmp_path: Path) -> None:
    make(root, "a.md", "private/b.md", "sub/private/c.md", "sub/d.md")
    make(tmp_path, ".ragignore", text="private/\n[\n\\\n")
    make(root, "sub/.ragignore", text="!private/\n")
    ignores, bad = ignores_beside(tmp_path / "store")
    assert found(root, WalkScope(ignores)) == ["a.md", "sub/d.md", "sub/private/c.md"]
    assert bad == [3]


def test_without_an_ignore_file_beside_the_store_nothing_is_ignored(tmp_path: Path) -> None:
    assert ignores_beside(tmp_path / "none" / "store") == (Ignores(), ())


def test_a_line_that_is_no_pattern_is_named_and_the_others_hold(root: Path) -> None:
    make(root, ".ragignore", text="a.md\n!\nb.md\n")
    make(root, "a.md", "b.md", "c.md")
    assert found(root) == ["c.md"]
    assert skipped(root)[".ragignore"] == "hidden file"
    troubles = [i for i in walk(Root("r", root)) if isinstance(i, SkippedFile) and i.wanted]
    assert troubles == [
        SkippedFile("r", ".ragignore", SkipKind.UNDECIDED, "invalid pattern", "line 2")
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "is_folder", "ignored"),
    [
        ("build/", "build", True, True),
        ("build/", "build", False, False),
        ("/a.md", "a.md", False, True),
        ("/a.md", "sub/a.md", False, False),
        ("*.md", "sub/ü.md", False, True),
        ("docs/**/x.md", "docs/a/b/x.md", False, True),
        ("# x", "# x", False, False),
        ("\\#x", "#x", False, True),
        ("*.md\n!keep.md", "keep.md", False, False),
    ],
)
def test_patterns_mean_what_they_mean_to_git(
    pattern: str, path: str, is_folder: bool, ignored: bool
) -> None:
    file, _ = parse_ignores(b"\xef\xbb\xbf" + pattern.encode(), "")
    reason = "left out by .ragignore" if ignored else None
    assert Ignores((file,)).reason(path, is_folder=is_folder) == reason


@POSIX
def test_links_are_never_followed_and_each_is_named(root: Path) -> None:
    make(root, "a.md", "sub/b.md")
    make(root.parent, "outside/secret.md")
    (root / "in.md").symlink_to("a.md")
    (root / "out.md").symlink_to(root.parent / "outside" / "secret.md")
    (root / "out-folder").symlink_to(root.parent / "outside")
    (root / "sub" / "loop").symlink_to(".")
    (root / "none.md").symlink_to("nowhere.md")
    assert found(root) == ["a.md", "sub/b.md"]
    assert skipped(root) == {
        "in.md": "link inside its root",
        "none.md": "link to nothing",
        "out-folder": "link out of its root",
        "out.md": "link out of its root",
        "sub/loop": "link inside its root",
    }


@POSIX
def test_links_that_git_tracks_and_files_behind_a_linked_folder_are_no_documents(
    root: Path,
) -> None:
    make(root, "real/a.md")
    make(root.parent, "outside/a.md")
    (root / "link.md").symlink_to("real/a.md")
    run_git(root, "init", "-q")
    run_git(root, "add", ".")
    (root / "real" / "a.md").unlink()
    (root / "real").rmdir()
    (root / "real").symlink_to(root.parent / "outside")
    assert found(root) == []
    assert skipped(root) == {
        ".git/": "excluded folder",
        "link.md": "link out of its root",
        "real": "link out of its root",
    }


@POSIX
@pytest.mark.parametrize("in_git", [False, True])
def test_a_pipe_and_a_folder_named_like_a_document_are_no_documents(
    root: Path, in_git: bool
) -> None:
    if in_git:
        run_git(root, "init", "-q")
    make(root, "folder.md/inside.md")
    os.mkfifo(root / "pipe.md")
    assert found(root) == ["folder.md/inside.md"]
    assert skipped(root)["pipe.md"] == "not a regular file"


@POSIX
@pytest.mark.skipif(sys.platform == "darwin", reason="APFS takes UTF-8 names alone")
@pytest.mark.parametrize("in_git", [False, True])
def test_a_name_that_is_not_utf8_is_named_and_counts_as_a_failure(root: Path, in_git: bool) -> None:
    if in_git:
        run_git(root, "init", "-q")
    with open(os.fsencode(root) + b"/bad-\xff.md", "w") as file:  # noqa: PTH123 - bytes
        file.write("x")
    troubles = [i for i in walk(Root("r", root)) if isinstance(i, SkippedFile) and i.wanted]
    assert troubles == [SkippedFile("r", "bad-\\udcff.md", SkipKind.FAILED, "name is not UTF-8")]


@pytest.mark.skipif(sys.platform == "darwin", reason="APFS takes the two for one")
def test_names_that_differ_in_unicode_form_alone_are_two_documents(root: Path) -> None:
    nfc = "caf\u00e9.md"
    nfd = unicodedata.normalize("NFD", nfc)
    make(root, nfc, nfd)
    assert found(root) == sorted([nfd, nfc])
    (root / nfc).unlink()
    assert found(root) == [nfc]


@POSIX
@pytest.mark.parametrize("name", ["two\nlines.md", "a b#c%20.md", "😀.md", "n" * 252 + ".md"])
@pytest.mark.parametrize("in_git", [False, True])
def test_odd_names_are_documents(root: Path, name: str, in_git: bool) -> None:
    if in_git:
        run_git(root, "init", "-q")
    make(root, name)
    assert found(root) == [name]


def test_a_folder_60_levels_deep_is_read(root: Path) -> None:
    path = "d/" * 60 + "deep.md"
    make(root, path)
    assert found(root) == [path]


def test_the_store_inside_a_root_is_left_out(root: Path) -> None:
    make(root, "a.md", "store/snapshots/x.md")
    scope = WalkScope(store=root / "store")
    assert found(root, scope) == ["a.md"]
    assert skipped(root, scope) == {"store/": "the index itself"}


def test_the_lock_file_of_an_open_word_document_is_left_out(root: Path) -> None:
    make(root, "~$plan.md")
    assert skipped(root) == {"~$plan.md": "lock file of an office program"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_listed_is_named(root: Path) -> None:
    make(root, "a.md", "closed/b.md")
    (root / "closed").chmod(0)
    try:
        assert found(root) == ["a.md"]
        assert skipped(root) == {"closed/": "folder unreadable: Permission denied"}
    finally:
        (root / "closed").chmod(0o700)
