"""Git in strangers' repositories: it runs nothing of theirs, and tells what it can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_rag.corpus.git import GitFailure, GitListing, list_repository, run_git
from local_rag.corpus.revision import git_revision
from tests.calling import calls
from tests.conftest import Corpus, Run
from tests.corpus.test_walk import make
from tests.corpus.test_walk import run_git as real_git
from tests.fake_ollama import FakeOllama

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="its traps are shell scripts")
TRAPPED = (
    "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor",
    "core.askPass", "core.alternateRefsCommand", "credential.helper", "diff.external",
    "diff.x.textconv", "diff.x.command", "merge.x.driver", "gpg.program", "pager.ls-files",
    "pager.config", "pager.rev-parse", "filter.x.clean", "filter.x.smudge",
    "interactive.diffFilter",
    "remote.near.uploadpack", "remote.near.vcs", "uploadpack.packObjectsHook", "sequence.editor",
    "fetch.bundleURI", "trailer.x.command", "log.showSignature", "submodule.inner.update",
)  # fmt: skip
HOOKS = ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction")


class Traps:
    """Programs that leave a file with their name when they are run."""

    def __init__(self, folder: Path) -> None:
        self.marks, self._programs = folder / "marks", folder / "programs"
        self.marks.mkdir(parents=True)
        self._programs.mkdir()

    def program(self, name: str, then: str = "cat") -> str:
        place = self._programs / name
        place.write_text(f"#!/bin/sh\n: > '{self.marks / name}'\n{then}\n", encoding="utf-8")
        place.chmod(0o700)
        return str(place)

    @property
    def sprung(self) -> set[str]:
        return {mark.name for mark in self.marks.iterdir()}

    def arm(self, repository: Path) -> None:
        """Sets every trap in a repository that has a commit."""
        settings = {name: self.program(name) for name in TRAPPED}
        settings |= {
            "filter.x.process": self.program("filter.x.process", "exit 1"),
            "filter.x.required": "true",
            "core.repositoryFormatVersion": "1",
            "core.hooksPath": str(self._programs),
            "core.untrackedCache": "true",
            "extensions.partialClone": "near",
            "remote.near.url": f"ext::{self.program('ext')} %S",
            "remote.near.promisor": "true",
            "remote.far.url": "ssh://host.invalid/x",
            "remote.far.promisor": "true",
            "remote.file.url": str(repository.parent / "no-such-repository"),
            "remote.file.promisor": "true",
            "remote.file.uploadpack": self.program("remote.file.uploadpack"),
            "protocol.allow": "always",
            "protocol.ext.allow": "always",
            "alias.ls-files": "!" + self.program("alias.ls-files"),
            "alias.rev-parse": "!" + self.program("alias.rev-parse"),
        }
        for name in HOOKS:
            self.program(name)
        place = Path(os.fsdecode(real_git(repository, "rev-parse", "--absolute-git-dir").strip()))
        for name in HOOKS:
            (place / "hooks").mkdir(exist_ok=True)
            (place / "hooks" / name).write_text(f"#!/bin/sh\n: > '{self.marks / name}'\n")
            (place / "hooks" / name).chmod(0o700)
        included = place / "included"
        for name, value in settings.items():
            real_git(repository, "config", "--file", str(included), name, value)
        real_git(repository, "config", "include.path", str(included))
        (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n", encoding="utf-8")


def commit(repository: Path) -> None:
    real_git(repository, "add", ".")
    real_git(repository, "commit", "-q", "--allow-empty", "-m", "more")


def lose_objects(repository: Path) -> None:
    """Takes every file and folder of the commit away: whoever wants one must fetch it."""
    place = Path(os.fsdecode(real_git(repository, "rev-parse", "--absolute-git-dir").strip()))
    for line in real_git(repository, "ls-tree", "-r", "-t", "HEAD").splitlines():
        name = line.split()[2].decode()
        (place / "objects" / name[:2] / name[2:]).unlink(missing_ok=True)
    tree = real_git(repository, "rev-parse", "HEAD^{tree}").decode().strip()
    (place / "objects" / tree[:2] / tree[2:]).unlink()


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path / "traps")


@POSIX
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("shape", ["the root", "a nested repository", "a worktree", "below"])
def test_a_repository_runs_nothing_in_ingest_or_server(
    corpus: Corpus, ollama: FakeOllama, run: Run, traps: Traps, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, shape: str, lost: bool,
) -> None:  # fmt: skip
    repository = {
        "the root": corpus.path,
        "a nested repository": corpus.path / "inner",
        "a worktree": tmp_path / "elsewhere",
        "below": corpus.path,
    }[shape]
    make(repository, "a.md", "sub/b.md", "sub/.gitignore", "sparse/.gitignore")
    real_git(repository, "init", "-q")
    commit(repository)
    if shape == "a worktree":
        real_git(repository, "worktree", "add", "-q", str(corpus.path / "tree"))
    if shape == "below":
        monkeypatch.setenv("RAG_CORPUS_DIR", str(corpus.path / "sub"))
    # Git takes the ignore file of a folder that is not checked out from the repository itself.
    real_git(repository, "update-index", "--skip-worktree", "sparse/.gitignore")
    (repository / "sparse" / ".gitignore").unlink()
    make(repository, "sparse/c.md")
    if lost:
        lose_objects(repository)
    traps.arm(repository)
    if shape == "a worktree":
        make(corpus.path / "tree", ".gitattributes", text="* filter=x diff=x\n")
        make(corpus.path / "tree", "a.md", text="edited\n")
    make(repository, "a.md", "sub/b.md", text="edited\n")
    with calls() as call:
        run()
        call("corpus_status")
        make(repository, "a.md", "sub/b.md", text="edit 2\n")
        run()
        call("corpus_status")
    assert traps.sprung == set()


@POSIX
@pytest.mark.parametrize(
    ("address", "setting"),
    [
        ("ext::{trap}", ""), ("ssh://host.invalid/x", "core.sshCommand"),
        ("git://host.invalid/x", "core.gitProxy"), ("{place}", "remote.near.uploadpack"),
        ("x://host.invalid/x", "remote.near.vcs"),
    ],
)  # fmt: skip
def test_a_missing_object_is_not_fetched(
    tmp_path: Path, traps: Traps, monkeypatch: pytest.MonkeyPatch, address: str, setting: str
) -> None:
    repository = make(tmp_path / "repository", "hidden/.gitignore", "a.md")
    real_git(repository, "init", "-q")
    commit(repository)
    # Git takes the ignore file of a folder that is not checked out from the repository itself.
    real_git(repository, "update-index", "--skip-worktree", "hidden/.gitignore")
    lose_objects(repository)
    (repository / "hidden" / ".gitignore").unlink()
    make(repository, "hidden/b.md")
    trap = traps.program("trap")
    if setting.endswith("vcs"):
        Path(trap).rename(Path(trap).with_name("git-remote-trap"))
        monkeypatch.setenv("PATH", f"{Path(trap).parent}{os.pathsep}{os.environ['PATH']}")
        trap = "trap"
    settings = {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "near",
        "remote.near.promisor": "true", "protocol.allow": "always", "protocol.ext.allow": "always",
        "remote.near.url": address.format(trap=trap, place=tmp_path / "repository"),
    } | ({setting: trap} if setting else {})  # fmt: skip
    for name, value in settings.items():
        real_git(repository, "config", name, value)
    assert isinstance(list_repository(repository, ""), GitListing)
    assert git_revision(repository)[1] is None
    assert traps.sprung == set()


@POSIX
def test_a_folder_that_looks_like_a_bare_repository_runs_nothing(
    corpus: Corpus, ollama: FakeOllama, run: Run, traps: Traps
) -> None:
    make(corpus.path, "a.md")
    bare = corpus.path / "bare"
    real_git(corpus.path, "init", "-q", "--bare", str(bare))
    real_git(corpus.path, "init", "-q")
    real_git(bare, "config", "core.bare", "false")
    real_git(bare, "config", "core.worktree", str(corpus.path))
    real_git(bare, "config", "core.fsmonitor", traps.program("core.fsmonitor"))
    make(bare, "b.md")
    run()
    assert traps.sprung == set()


@POSIX
def test_a_git_in_the_working_folder_or_a_relative_path_is_not_run(
    tmp_path: Path, traps: Traps, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "repository", "a.md")
    real_git(tmp_path / "repository", "init", "-q")
    work = tmp_path / "work"
    (work / "bin").mkdir(parents=True)
    (work / "git").symlink_to(traps.program("git"))
    (work / "bin" / "git").symlink_to(traps.program("git"))
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin", os.environ["PATH"]]))
    listing = list_repository(tmp_path / "repository", "")
    assert isinstance(listing, GitListing) and listing.has_file("a.md")
    assert traps.sprung == set()


def test_nothing_but_git_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "repository", "a.md")
    real_git(tmp_path / "repository", "init", "-q")
    started: list[list[str]] = []
    usual = subprocess.run

    def watched(command: list[str], **options: object) -> object:
        started.append(command)
        return usual(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("local_rag.corpus.git.subprocess.run", watched)
    list_repository(tmp_path / "repository", "")
    git_revision(tmp_path / "repository")
    assert {Path(command[0]).stem for command in started} == {"git"}
    ran = {command[command.index("-C") + 2] for command in started}
    assert ran == {"rev-parse", "config", "ls-files"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit of three files, in which nothing has been touched."""
    folder = make(tmp_path / "repository", "a.md", "b.md", "sub/c.md")
    real_git(folder, "init", "-q")
    commit(folder)
    return folder


def differs(folder: Path) -> bool | None:
    return git_revision(folder)[1]


def test_an_untouched_folder_does_not_differ_from_its_commit(repository: Path) -> None:
    head = real_git(repository, "rev-parse", "HEAD").decode().strip()
    assert git_revision(repository) == git_revision(repository / "sub") == (head, False)


def test_a_folder_without_a_commit_or_a_repository_has_no_revision(tmp_path: Path) -> None:
    make(tmp_path / "plain", "a.md")
    assert git_revision(tmp_path / "plain") == ("", False)
    real_git(tmp_path / "plain", "init", "-q")
    assert git_revision(tmp_path / "plain") == ("", False)


def test_a_file_written_anew_with_the_same_text_does_not_differ(repository: Path) -> None:
    for name in ("a.md", "b.md"):
        (repository / name).unlink()
        make(repository, name)
        os.utime(repository / name, (1, 1))
    assert differs(repository) is False


@pytest.mark.parametrize(
    "command",
    [
        "echo more >> a.md", "printf 'tent\\n' > a.md", "rm a.md", "echo new > new.md",
        "git rm -q --cached a.md", "git mv a.md d.md", "echo x > b.md; git add b.md",
        "echo x > new.md; git add -N new.md", "rm b.md; mkdir b.md; echo x > b.md/x",
    ],
)  # fmt: skip
@POSIX
def test_what_is_not_as_it_was_committed_differs(repository: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=repository, check=True)
    assert differs(repository) is True
    assert differs(repository / "sub") is False


@pytest.mark.parametrize(
    ("attributes", "autocrlf"),
    [("*.md filter=lfs", ""), ("*.md text", ""), ("*.md ident", ""), ("* text=auto", ""),
     ("*.md working-tree-encoding=latin-1", ""), ("", "true"), ("", "input"), ("*.md crlf", "")],
)  # fmt: skip
def test_whether_a_converted_file_differs_is_unknown_until_git_has_compared_it(
    repository: Path, attributes: str, autocrlf: str
) -> None:
    (repository / ".gitattributes").write_text(attributes + "\n", encoding="utf-8")
    commit(repository)
    if autocrlf:
        real_git(repository, "config", "core.autocrlf", autocrlf)
    assert differs(repository) is False
    (repository / "a.md").write_bytes(b"text\r\n")
    assert differs(repository) is None
    make(repository, "new.md")
    assert differs(repository) is True


def test_files_that_are_not_checked_out_do_not_differ(repository: Path) -> None:
    real_git(repository, "update-index", "--skip-worktree", "a.md")
    (repository / "a.md").unlink()
    assert differs(repository) is False


def test_a_repository_inside_is_not_looked_into(repository: Path, tmp_path: Path) -> None:
    source = make(tmp_path / "source", "s.md")
    real_git(source, "init", "-q")
    commit(source)
    allow = ("-c", "protocol.file.allow=always")
    real_git(repository, *allow, "submodule", "--quiet", "add", str(source), "module")
    commit(repository)
    assert differs(repository) is None


def test_an_unknown_state_is_stored_and_told_as_unknown(
    corpus: Corpus, ollama: FakeOllama, run: Run
) -> None:
    make(corpus.path, "a.md")
    make(corpus.path, ".gitattributes", text="*.md filter=lfs\n")
    real_git(corpus.path, "init", "-q")
    commit(corpus.path)
    make(corpus.path, "a.md", text="changed\n")
    (root,) = run().roots
    assert (root.commit != "", root.dirty) == (True, None)
    with calls() as call:
        (root_status,) = call("corpus_status")["roots"]
    assert "commit_now" in root_status
    assert root_status.get("dirty_at_ingest") is root_status.get("dirty_now") is None


def test_a_run_without_time_fails_and_says_so(repository: Path) -> None:
    answer = run_git(repository, "ls-files", seconds=0)
    assert answer == GitFailure("git took longer than 0 s", "Run ingest.py again.")
