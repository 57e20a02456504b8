"""A corpus that changes, clients that go on asking about it, and what they may be answered."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from local_rag.index.catalog import Catalog
from local_rag.index.snapshots import Store
from tests.conftest import Corpus
from tests.server.test_stdio import RawClient

DOCUMENTS = 12
Lines = frozenset[tuple[str, str]]
"""Path, and the line that tells the version, of every document that may be shown."""


class Changer:
    """Edits, deletes, renames and retires documents at random."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus, self._random, self._version = corpus, random.Random(seed), 0  # noqa: S311
        self._shown: dict[str, str] = {}
        for number in range(DOCUMENTS):
            self._write(number, "active")

    @property
    def lines(self) -> Lines:
        """What an index of the corpus as it is now must show."""
        return frozenset(self._shown.items())

    def change(self) -> None:
        self._version += 1
        for number in self._random.sample(range(DOCUMENTS), 3):
            files = list(self._corpus.path.glob(f"{number:02}*.md"))
            match self._random.choice(("edit", "delete", "rename", "retire")):
                case "delete" if files:
                    self._remove(number)
                case "rename" if files:
                    target = files[0].with_name(f"{number:02}-{self._version}.md")
                    files[0].rename(target)
                    if files[0].name in self._shown:
                        self._shown[target.name] = self._shown.pop(files[0].name)
                case "retire":
                    self._write(number, "superseded")
                case _:
                    self._write(number, "active")

    def _remove(self, number: int) -> None:
        for file in self._corpus.path.glob(f"{number:02}*.md"):
            file.unlink()
            self._shown.pop(file.name, None)

    def _write(self, number: int, lifecycle: str) -> None:
        self._remove(number)
        line = f"alpha{number} of version {self._version}"
        text = (
            f"---\nlifecycle: {lifecycle}\n---\n# Document {number}\n\n{line}\n\nand beta{number}\n"
        )
        self._corpus.write(f"{number:02}.md", text)
        if lifecycle == "active":
            self._shown[f"{number:02}.md"] = line


@dataclass(frozen=True)
class Said:
    """An answer to a question about a document, and how many snapshots there had been before and
    after it. One that isn't `whole` was given without the embedder, by words alone.
    """

    number: int
    lines: Lines
    whole: bool
    first: int
    last: int

    def is_of(self, lines: Lines) -> bool:
        if self.whole:
            return self.lines == lines
        return self.lines <= lines and _about(self.number, self.lines) == _about(self.number, lines)


def _about(number: int, lines: Lines) -> Lines:
    return frozenset(pair for pair in lines if pair[1].startswith(f"alpha{number} "))


class Published:
    """What each snapshot says that was live, one after the other."""

    def __init__(self, store: Store) -> None:
        self._store, self._name = store, ""
        self.history: list[Lines] = []

    def look(self) -> None:
        """Takes in the live snapshot if it is another. Call it after every ingest."""
        snapshot = self._store.current()
        if snapshot.path.name == self._name:
            return
        self._name = snapshot.path.name
        with closing(Catalog.open(snapshot.catalog)) as catalog:
            shown = [file for file in catalog.files() if file.lifecycle == "active"]
            texts = [(file.path, catalog.text(file.number)) for file in shown]
        self.history.append(lines_in(texts))

    def wrong(self, said: Sequence[Said]) -> list[Said]:
        """The answers that no snapshot gives which was live while the question was asked."""
        return [
            s for s in said if not any(map(s.is_of, self.history[max(0, s.first - 1) : s.last + 1]))
        ]


def lines_in(texts: Sequence[tuple[str, str]]) -> Lines:
    return frozenset(
        (path, line)
        for path, text in texts
        for line in text.splitlines()
        if line.startswith("alpha")
    )


class Asker:
    """One client of one server; several threads take turns, as the pipe is one."""

    def __init__(self, client: RawClient, published: Published) -> None:
        self.client, self._published, self._lock = client, published, threading.Lock()
        self.said: list[Said] = []
        self.errors: list[str] = []
        self.notices: Counter[str] = Counter()

    def ask(self, number: int) -> None:
        with self._lock:
            first = len(self._published.history)
            result = self.client.call("search_corpus", query=f"alpha{number}", limit=20)
            last = len(self._published.history)
        if result.get("isError"):
            self.errors.append(result["content"][0]["text"])
            return
        content: dict[str, Any] = result["structuredContent"]
        notices = [notice for notice in content["notices"] if "weak" not in notice]
        self.notices.update(notices)
        lines = lines_in([(hit["path"], hit["text"]) for hit in content["hits"]])
        self.said.append(Said(number, lines, not notices, first, last))


@contextmanager
def kept_asking(askers: Sequence[Asker], threads: int) -> Iterator[None]:
    """Goes on asking, on so many threads a client; what fails there fails here at the end."""
    done = threading.Event()

    def keep_asking(asker: Asker, seed: int) -> None:
        choice = random.Random(seed)  # noqa: S311
        while not done.is_set():
            asker.ask(choice.randrange(DOCUMENTS))

    with ThreadPoolExecutor(len(askers) * threads) as pool:
        asking = [pool.submit(keep_asking, a, s) for s, a in enumerate([*askers] * threads)]
        try:
            yield
        finally:
            done.set()
        for future in asking:
            future.result()
