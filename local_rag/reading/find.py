"""Finds the indexed file that a name means: its path, `root:path`, a unique end of it, or an alias.

Only the catalog's names count, so no spelling of a path leads anywhere else.
"""

from __future__ import annotations

import difflib
import heapq
import unicodedata
from collections.abc import Iterable, Iterator

from local_rag.errors import DocumentNotFound
from local_rag.index.catalog import FileRecord
from local_rag.index.live_index import OpenIndex
from local_rag.index.paths import ParsedPath, parse_path
from local_rag.text.sanitize import format_call, one_line
from local_rag.text.trim import shorten

MOST_NAMED = 8  # candidates listed in an error
LONGEST_GUESS = 200  # characters of a name; no suggestions for longer ones
LIKELY = 200  # names compared in full
ECHO_BYTES = 120  # bytes of a name in an error
DocumentName = tuple[str, str]
"""Root and path."""


def find_file(index: OpenIndex, wanted: str) -> FileRecord:
    """The indexed file that `wanted` names: by path, `root:path`, the end of its path, or an alias.

    Raises:
        DocumentNotFound: no document or several match; the message names them or the nearest.
    """
    names = index.catalog.names()
    plain = parse_path(wanted, index.snapshot.manifest.roots)
    # Two names may differ only in Unicode form: the form as written comes first.
    for found in _readings(index, names, wanted, plain) if wanted else ():
        if len(found) == 1:
            record = index.catalog.file(*found[0])
            assert record
            return record
        if found:
            more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            listed = ", ".join(map(display_name, found[:MOST_NAMED]))
            raise DocumentNotFound(f"{_echo(wanted)} is ambiguous.", f"Say which: {listed}{more}.")
    what = f"No indexed document has the path {_echo(wanted)}."
    folder = f"{plain.path.rstrip('/')}/"
    if folder != "/" and any(name[1].startswith(folder) for name in names):
        listing = format_call("list_files", glob=one_line(wanted))
        raise DocumentNotFound(what, f"It is a folder: {listing}.")
    near = ", ".join(nearest(names, plain.path))
    remedy = f"Did you mean {near}?" if near else "Use a path from search_corpus or list_files."
    raise DocumentNotFound(what, remedy)


def _readings(
    index: OpenIndex, names: list[DocumentName], wanted: str, plain: ParsedPath
) -> Iterator[list[DocumentName]]:
    """The names that a text may mean, one reading after the other."""
    either = {wanted, unicodedata.normalize("NFC", wanted)}
    below = [name for name in names if plain.root in (None, name[0])]
    yield list(_exact(names, {wanted}))
    yield list(_exact(names, either))
    yield [name for name in below if plain.path == name[1]]
    yield list(_by_end(names, either))
    yield list(_by_end(below, {plain.path}))
    yield list(_by_alias(index.catalog.aliases(), wanted))


def display_name(name: DocumentName) -> str:
    """`root:path` as one line."""
    return one_line(f"{name[0]}:{name[1]}")


def nearest(names: Iterable[DocumentName], wanted: str) -> list[str]:
    """Up to three names most similar to `wanted`, ignoring case and Unicode form."""
    if not wanted or len(wanted) > LONGEST_GUESS:
        return []
    by_key: dict[str, list[str]] = {}
    asked = _key(wanted)
    by_path = "/" in asked
    for root, path in names:
        key = _key(path if by_path else path.rpartition("/")[2])
        by_key.setdefault(key, []).append(display_name((root, path)))
    asked = asked.partition(":")[2] or asked
    # Only those that share the most letter pairs: comparing 30,000 names in full takes 10 s.
    pairs = {asked[i : i + 2] for i in range(len(asked) - 1)} or {asked}
    scored = ((sum(p in k for p in pairs) - abs(len(k) - len(asked)) / 2, k) for k in by_key)
    likely = [key for _, key in heapq.nlargest(LIKELY, scored)]
    keys = difflib.get_close_matches(asked, likely, n=3, cutoff=0.7)
    return [name for key in keys for name in by_key[key]][:3]


def _exact(names: Iterable[DocumentName], spellings: set[str]) -> Iterable[DocumentName]:
    return (
        n for n in names if spellings & {n[1], f"{n[0]}:{n[1]}", one_line(n[1]), display_name(n)}
    )


def _by_end(names: Iterable[DocumentName], spellings: set[str]) -> Iterable[DocumentName]:
    ends = tuple(f"/{spelling}" for spelling in spellings)
    return (name for name in names if name[1].endswith(ends))


def _by_alias(
    aliases: Iterable[tuple[str, str, tuple[str, ...]]], wanted: str
) -> Iterable[DocumentName]:
    """The documents with the alias `wanted`, in any case, with or without their root."""
    asked = _key(wanted)
    for root, path, names in aliases:
        if {asked} & {key for name in names for key in (_key(name), _key(f"{root}:{name}"))}:
            yield root, path


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold().replace("\\", "/")


def _echo(wanted: str) -> str:
    return f"'{shorten(one_line(wanted), ECHO_BYTES)}'"
