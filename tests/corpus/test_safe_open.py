"""A file of the corpus is opened inside its root alone, past no link and no pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_rag.corpus.safe_open import FileContent, SafeFolder, read_inside
from local_rag.errors import PathRefused

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX links and pipes")
Read = Callable[[Path, int], FileContent]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "corpus"
    folder.mkdir()
    return folder


@pytest.fixture(params=["one by one", "many"])
def read(root: Path, request: pytest.FixtureRequest) -> Iterator[Read]:
    """Both ways of reading."""
    if request.param == "many":
        with closing(SafeFolder(root)) as files:
            yield lambda location, most: files.read(str(location), most)
    else:
        yield lambda location, most: read_inside(root, location, most)


def make(file: Path, text: str = "text\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_is_read_with_its_size_and_time(root: Path, read: Read) -> None:
    for name in ("a.md", "sub/b.md", "sub/deep/c.md", "sub/d.md", "empty.md"):
        file = make(root / name, "" if name == "empty.md" else name)
        status = file.stat()
        assert read(file, 100) == (file.read_bytes(), status.st_size, status.st_mtime_ns)


@POSIX
def test_a_file_whose_folder_became_a_link_is_refused(root: Path, read: Read) -> None:
    make(root / "sub" / "a.md").unlink()
    make(root.parent / "outside" / "a.md", "secret\n")
    (root / "sub").rmdir()
    (root / "sub").symlink_to(root.parent / "outside")
    with pytest.raises(PathRefused):
        read(root / "sub" / "a.md", 100)


@POSIX
def test_a_file_in_a_folder_above_whose_parent_became_a_link_is_refused(
    root: Path, read: Read
) -> None:
    make(root.parent / "outside" / "deep" / "a.md", "secret\n")
    (root / "sub").symlink_to(root.parent / "outside")
    with pytest.raises(PathRefused):
        read(root / "sub" / "deep" / "a.md", 100)


@POSIX
def test_a_folder_that_becomes_a_link_while_it_is_read_gives_no_file_from_elsewhere(
    root: Path,
) -> None:
    make(root / "sub" / "a.md", "mine\n")
    make(root.parent / "outside" / "a.md", "secret\n")
    with closing(SafeFolder(root)) as files:
        assert files.read(str(root / "sub" / "a.md"), 100).data == b"mine\n"
        (root / "sub").rename(root / "was")
        (root / "sub").symlink_to(root.parent / "outside")
        assert files.read(str(root / "sub" / "a.md"), 100).data == b"mine\n"


@POSIX
def test_a_file_that_became_a_link_or_a_pipe_is_refused(root: Path, read: Read) -> None:
    make(root.parent / "secret.md")
    (root / "link.md").symlink_to(root.parent / "secret.md")
    os.mkfifo(root / "pipe.md")
    for name in ("link.md", "pipe.md"):
        with pytest.raises(PathRefused):
            read(root / name, 100)


def test_a_file_outside_the_root_is_refused(root: Path, read: Read) -> None:
    for folder in (root.parent, root.parent / "corpus-2"):
        with pytest.raises(PathRefused):
            read(make(folder / "a.md"), 100)


def test_a_file_that_is_gone_is_an_error_of_its_own(root: Path, read: Read) -> None:
    make(root / "sub" / "a.md")
    for name in ("sub/b.md", "none/a.md"):
        with pytest.raises(FileNotFoundError):
            read(root / name, 100)


def test_a_file_over_the_limit_is_not_read(root: Path, read: Read) -> None:
    file = make(root / "a.md", "x" * 101)
    with pytest.raises(ValueError, match=r"^larger than 0\.0001 MB$"):
        read(file, 100)
    assert read(file, 101).data == b"x" * 101


def test_after_a_refusal_the_next_file_is_read(root: Path, read: Read) -> None:
    good = make(root / "a.md")
    with pytest.raises(PathRefused):
        read(make(root.parent / "b.md"), 100)
    assert read(good, 100).data == b"text\n"
