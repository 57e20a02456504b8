"""Servers asked by many threads while ingest runs, is killed, and the corpus changes under it.

`make soak` runs it; SOAK_INGESTS, SOAK_SERVERS and SOAK_THREADS set how long.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from local_rag.catalog import Catalog
from local_rag.snapshots import Store
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.scenes import PROJECT, answered, assert_whole, ingest, python
from tests.test_server import RawClient, server

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal"),
]

DOCUMENTS = 12
STEPS = ("copied %s", "embedded %d chunks", "indexed %d files", "verifying %s", "publishing %s",
         "published %s", "removing %s", "removing the files of %s")  # fmt: skip


def asked(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


class Published:
    """For every document the lines that some published snapshot has for it, None for hidden."""

    def __init__(self, store: Store) -> None:
        self._store, self._seen = store, set[str]()
        self.lines: dict[int, set[str | None]] = {n: set() for n in range(DOCUMENTS)}

    def look(self) -> None:
        """Takes in the snapshots that came since the last time."""
        for name in self._store.finished():
            if name in self._seen:
                continue
            self._seen.add(name)
            snapshot = self._store.open(name)
            with closing(Catalog.open(snapshot.catalog)) as catalog:
                shown = [f for f in catalog.files() if f.lifecycle == "active"]
                texts = [catalog.text(file.number) for file in shown]
            for number, lines in self.lines.items():
                word = f"alpha{number} "
                own = [line for t in texts for line in t.splitlines() if line.startswith(word)]
                lines.update(own or [None])


class Changer:
    """Edits, deletes, renames and retires documents at random."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus, self._random, self._version = corpus, random.Random(seed), 0  # noqa: S311
        for number in range(DOCUMENTS):
            self._write(number, "active")

    def change(self) -> None:
        self._version += 1
        for number in self._random.sample(range(DOCUMENTS), 3):
            files = list(self._corpus.path.glob(f"{number:02}*.md"))
            match self._random.choice(("edit", "delete", "rename", "retire")):
                case "delete" if files:
                    files[0].unlink()
                case "rename" if files:
                    files[0].rename(files[0].with_name(f"{number:02}-{self._version}.md"))
                case "retire":
                    self._write(number, "superseded")
                case _:
                    self._write(number, "active")

    def _write(self, number: int, lifecycle: str) -> None:
        for file in self._corpus.path.glob(f"{number:02}*.md"):
            file.unlink()
        text = f"---\nlifecycle: {lifecycle}\n---\n# Document {number}\n\n"
        text += f"alpha{number} of version {self._version}\n\nand beta{number} too\n"
        self._corpus.write(f"{number:02}.md", text)


class Asker:
    """One client of one server; several threads take turns, as the pipe is one."""

    def __init__(self, client: RawClient) -> None:
        self.client, self.lock = client, threading.Lock()
        self.said: list[tuple[int, str | None]] = []
        self.errors: list[str] = []
        self.notices: Counter[str] = Counter()

    def ask(self, number: int) -> None:
        with self.lock:
            result = self.client.call("search_corpus", query=f"alpha{number}", limit=20)
        if result.get("isError"):
            self.errors.append(result["content"][0]["text"])
            return
        content: dict[str, Any] = result["structuredContent"]
        self.notices.update(n for n in content["notices"] if "weak" not in n)
        lines = {
            line
            for hit in content["hits"]
            for line in hit["text"].splitlines()
            if line.startswith(f"alpha{number} ")
        }
        self.said += [(number, line) for line in lines or {None}]


def test_every_answer_is_what_some_published_snapshot_says(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    ingests = asked("SOAK_INGESTS", 100)
    changer, published, done = Changer(corpus, 7), Published(store), threading.Event()
    run()
    with ExitStack() as stack:
        clients = [stack.enter_context(server()) for _ in range(asked("SOAK_SERVERS", 4))]
        for client in clients:
            client.initialize()
        askers = [Asker(client) for client in clients]

        def keep_asking(asker: Asker, seed: int) -> None:
            choice = random.Random(seed)  # noqa: S311
            while not done.is_set():
                asker.ask(choice.randrange(DOCUMENTS))

        pool = stack.enter_context(ThreadPoolExecutor(32))
        stack.callback(done.set)
        threads = asked("SOAK_THREADS", 4)
        asking = [pool.submit(keep_asking, a, s) for s, a in enumerate(askers * threads)]
        kills = ran(ingests, changer, published)
        done.set()
        for future in asking:
            future.result()
        assert ingest().returncode == 0
        published.look()
        assert_whole(store)
    said = [pair for asker in askers for pair in asker.said]
    wrong = [(n, line) for n, line in said if line not in published.lines[n]]
    errors = [error for asker in askers for error in asker.errors]
    notices = sum((asker.notices for asker in askers), Counter())
    report = f"{ingests} ingests, {kills} killed, {len(said)} answers, {len(wrong)} wrong"
    sys.stderr.write(f"\n{report}, {len(errors)} errors, notices {dict(notices)}\n")
    assert (wrong, errors) == ([], [])
    assert ingest("--verify").returncode == 0


def ran(ingests: int, changer: Changer, published: Published) -> int:
    """Runs so many ingests, every third of them killed at some step; answers how many were."""
    choice, kills = random.Random(3), 0  # noqa: S311
    for number in range(ingests):
        changer.change()
        if number % 3 == 2:
            arguments = (choice.choice(STEPS), str(choice.randint(1, 3)))
            killed = python("-m", "tests.faults.killed_ingest", *arguments)
            kills += killed.returncode == -signal.SIGKILL
        else:
            assert ingest(*["--rebuild"] * (number % 10 == 9)).returncode == 0
        published.look()
    return kills


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_server_does_not_grow_over_many_snapshots(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    for number in range(40):
        corpus.write(f"{number:02}.md", f"alpha{number} and so on\n" + "word " * 200)
    run()
    sizes = []
    with server() as client:
        client.initialize()
        for version in range(asked("SOAK_SWITCHES", 100)):
            corpus.write("00.md", f"alpha0 of version {version}\n")
            run()
            assert answered(client, range(1))[0] == {"00.md": f"alpha0 of version {version}"}
            sizes.append((resident(client.process.pid), open_files(client.process.pid)))
    stored = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    tenth, last = sizes[len(sizes) // 10], sizes[-1]
    report = (
        f"{len(sizes)} switches: {tenth} then, {last} at last (MB, files); store {stored / 1e6}"
    )
    sys.stderr.write(f"\n{report} MB\n")
    assert last[1] <= tenth[1] + 4
    assert last[0] <= tenth[0] + 30


def test_a_kill_at_a_random_moment_costs_nothing(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    changer, choice = Changer(corpus, 11), random.Random(5)  # noqa: S311
    published, kills, times = Published(store), 0, asked("SOAK_KILLS", 200)
    run()
    with server() as client:
        client.initialize()
        asker = Asker(client)
        for _ in range(times):
            changer.change()
            kills += killed_after(choice.uniform(0.3, 2.5))
            published.look()
            for number in range(DOCUMENTS):
                asker.ask(number)
        assert ingest().returncode == 0
        published.look()
    wrong = [(n, line) for n, line in asker.said if line not in published.lines[n]]
    sys.stderr.write(f"\n{times} runs, {kills} killed, {len(asker.said)} answers\n")
    assert (wrong, asker.errors) == ([], [])
    assert_whole(store)
    assert ingest("--verify").returncode == 0


def killed_after(seconds: float) -> bool:
    process = subprocess.Popen(
        [sys.executable, "ingest.py"], cwd=PROJECT, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() == -signal.SIGKILL


def resident(pid: int) -> int:
    """Megabytes of memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("no VmRSS")


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
