"""Paths and globs as people write them, and which documents they then stand for."""

from __future__ import annotations

import pytest

from local_rag.index.manifest import RootState
from local_rag.index.paths import Glob, ParsedPath, parse_path

ROOTS = [
    RootState("notes", "/home/me/notes"),
    RootState("docs~1a2b3c", "/srv/docs"),
    RootState("c_docs", "C:\\Users\\Me\\Docs"),
]


@pytest.mark.parametrize(
    ("written", "root", "path"),
    [
        ("fm/a.md", None, "fm/a.md"),
        ("./fm/a.md", None, "fm/a.md"),
        (".//fm//./a.md", None, "fm/a.md"),
        ("fm\\sub\\a.md", None, "fm/sub/a.md"),
        (".\\fm\\a.md", None, "fm/a.md"),
        ("fm/", None, "fm/"),
        (".", None, ""),
        ("notes:fm/a.md", "notes", "fm/a.md"),
        ("docs~1a2b3c:./a.md", "docs~1a2b3c", "a.md"),
        ("/home/me/notes/fm/a.md", "notes", "fm/a.md"),
        ("/home/me/notes//fm/a.md", "notes", "fm/a.md"),
        ("/home/me/notes/", "notes", ""),
        ("/home/me/notes", "notes", ""),
        ("c:/users/me/docs/a.md", "c_docs", "a.md"),
        ("C:\\Users\\Me\\Docs\\sub\\a.md", "c_docs", "sub/a.md"),
        # What lies beside a root, or above it, is nobody's.
        ("/home/me/notes2/a.md", None, "/home/me/notes2/a.md"),
        ("/home/me/notes/../secret.md", "notes", "../secret.md"),
        ("/etc/passwd", None, "/etc/passwd"),
        ("..\\secret.md", None, "../secret.md"),
        ("other:a.md", None, "other:a.md"),
        ("cafe\u0301.md", None, "caf\u00e9.md"),
    ],
)
def test_a_path_is_told_as_root_and_path(written: str, root: str | None, path: str) -> None:
    assert parse_path(written, ROOTS) == ParsedPath(root, path)


FILES = [
    ("notes", "a.md"),
    ("notes", "fm/a.md"),
    ("notes", "fm/deep/b.md"),
    ("notes", "fm2/c.txt"),
    ("notes", "[odd] name.md"),
    ("notes", "back\\slash.md"),
    ("docs~1a2b3c", "fm/a.md"),
]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("./fm/", ["notes:fm/a.md", "notes:fm/deep/b.md", "docs~1a2b3c:fm/a.md"]),
        ("fm", ["notes:fm/a.md", "notes:fm/deep/b.md", "docs~1a2b3c:fm/a.md"]),
        ("fm\\", ["notes:fm/a.md", "notes:fm/deep/b.md", "docs~1a2b3c:fm/a.md"]),
        ("fm\\deep\\*.md", ["notes:fm/deep/b.md"]),
        ("/home/me/notes/fm", ["notes:fm/a.md", "notes:fm/deep/b.md"]),
        ("/home/me/notes/fm/*.md", ["notes:fm/a.md", "notes:fm/deep/b.md"]),
        ("/srv/docs/", ["docs~1a2b3c:fm/a.md"]),
        ("notes:fm/**/*.md", ["notes:fm/a.md", "notes:fm/deep/b.md"]),
        ("**/a.md", ["notes:a.md", "notes:fm/a.md", "docs~1a2b3c:fm/a.md"]),
        ("**/b.md", ["notes:fm/deep/b.md"]),
        ("*.txt", ["notes:fm2/c.txt"]),
        ("fm?", ["notes:fm2/c.txt"]),
        ("[odd] name.md", ["notes:[odd] name.md"]),
        ("back\\slash.md", ["notes:back\\slash.md"]),
        ("./", [f"{root}:{path}" for root, path in FILES]),
        ("/home/me", []),
        ("../notes/fm", []),
        ("/", [f"{root}:{path}" for root, path in FILES]),
    ],
)
def test_a_glob_fits_what_a_person_means(glob: str, expected: list[str]) -> None:
    wanted = Glob(glob, ROOTS)
    assert [f"{root}:{path}" for root, path in FILES if wanted.matches(root, path)] == expected
