"""Servers asked by many threads while ingest runs, is killed, and the corpus changes under it.

`make soak` runs it; SOAK_INGESTS, SOAK_SERVERS, SOAK_THREADS, SOAK_KILLS and SOAK_SWITCHES set how
long. Each test prints its figures.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from local_rag.index.snapshots import Store
from local_rag.ingest.base_snapshot import load_base_snapshot
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama
from tests.faults.asking import Asker, Changer, Published, kept_asking
from tests.faults.forked import PROJECT
from tests.faults.scenes import age, answered, assert_whole, ingest, killed, server

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal"),
]

STEPS = ("copied %s", "embedded %d chunks", "indexed %d files", "verifying %s", "publishing %s",
         "published %s", "removing %s", "removing the files of %s")  # fmt: skip
LEVEL = 200  # switches after which a server's memory has come to rest
MOMENTS = {"started": 1.5, "copied": 0.3, "embedded": 0.3, "verifying": 0.2, "publishing": 0.1}
"""Lines of the log, and within how many seconds after them a run is killed: the whole run is hit,
and what it does with the store often."""


def asked(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def tell(*figures: object) -> None:
    print(*figures, sep="; ", file=sys.__stderr__, flush=True)


def test_every_answer_is_what_a_snapshot_says_that_was_live_then(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    ingests = asked("SOAK_INGESTS", 100)
    changer, published = Changer(corpus, 7), Published(store)
    run()
    published.look()
    with ExitStack() as stack:
        clients = [stack.enter_context(server()) for _ in range(asked("SOAK_SERVERS", 4))]
        for client in clients:
            client.initialize()
        askers = [Asker(client, published) for client in clients]
        with kept_asking(askers, asked("SOAK_THREADS", 4)):
            kills = ran(ingests, changer, published, store)
            assert ingest().returncode == 0
            published.look()
        assert_whole(store)
    said = [answer for asker in askers for answer in asker.said]
    wrong = published.wrong(said)
    errors = [error for asker in askers for error in asker.errors]
    notices = sum((asker.notices for asker in askers), Counter())
    tell(
        f"{len(askers)} servers, {ingests} ingests, {kills} of them killed",
        f"{len(published.history)} snapshots, {len(store.finished())} kept",
        f"{len(said)} answers, {len(wrong)} wrong, {len(errors)} errors, notices {dict(notices)}",
    )
    assert (wrong, errors) == ([], [])
    assert published.history[-1] == changer.lines
    assert ingest("--verify").returncode == 0


def ran(ingests: int, changer: Changer, published: Published, store: Store) -> int:
    """Runs so many ingests, every third of them killed at some step; answers how many were."""
    choice, kills = random.Random(3), 0  # noqa: S311
    for number in range(ingests):
        changer.change()
        if number % 3 == 2:
            age(store)  # so that there is something to remove
            kills += killed(choice.choice(STEPS), 1).returncode == -signal.SIGKILL
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
        for version in range(asked("SOAK_SWITCHES", 300)):
            corpus.write("00.md", f"alpha0 of version {version}\n")
            run()
            assert answered(client, range(1))[0] == {"00.md": f"alpha0 of version {version}"}
            sizes.append((resident(client.process.pid), open_files(client.process.pid)))
    stored = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    tenth, last = sizes[len(sizes) // 10], sizes[-1]
    tell(
        f"{len(sizes)} switches: MB and open files at each tenth {sizes[:: len(sizes) // 10]}",
        f"{last} at last; store {stored / 1e6} MB",
    )
    assert last[1] <= tenth[1] + 4
    assert last[0] <= tenth[0] + 30
    if len(sizes) > LEVEL:
        assert max(mb for mb, _ in sizes[LEVEL:]) <= sizes[LEVEL][0] + 5


def test_a_kill_at_a_random_moment_costs_nothing(
    corpus: Corpus, store: Store, ollama: FakeOllama, run: Run
) -> None:
    changer, choice = Changer(corpus, 11), random.Random(5)  # noqa: S311
    published, wanted = Published(store), asked("SOAK_KILLS", 200)
    kills, tries, lost, times = Counter[str](), 0, [], []
    run()
    published.look()
    with server() as client:
        client.initialize()
        asker = Asker(client, published)
        with kept_asking([asker], 2):
            while kills.total() < wanted:
                assert tries < 4 * wanted
                tries += 1
                changer.change()
                last_step = killed_at(*choice.choice(list(MOMENTS.items())), choice)
                kills.update([last_step] if last_step else [])
                assert load_base_snapshot(store).damage == ""
                published.look()
                began = time.monotonic()
                assert ingest().returncode == 0
                times.append(time.monotonic() - began)
                published.look()
                lost += [(tries, last_step)] if published.history[-1] != changer.lines else []
    wrong = published.wrong(asker.said)
    again = Counter(Counter(ollama.documents).values())
    tell(
        f"{tries} runs, {kills.total()} killed, after the steps {dict(kills)}",
        f"{len(lost)} times lost something, {len(asker.said)} answers, {len(wrong)} wrong",
        f"recovered in {statistics.median(times):.1f} s, {max(times):.1f} s at the most",
        f"texts by how often they were embedded {dict(again)}, notices {dict(asker.notices)}",
    )
    assert (lost, wrong, asker.errors) == ([], [], [])
    assert max(again) <= 2  # what was on its way to the embedder when the run was killed
    assert_whole(store)
    assert ingest("--verify").returncode == 0


def killed_at(line: str, within: float, choice: random.Random) -> str:
    """Kills a run some time after a line of its log; the last line it wrote, or nothing if it had
    ended by then.
    """
    process = subprocess.Popen(
        [sys.executable, "ingest.py", "--verbose"], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr
        seen = ""
        while seen != line and (text := process.stderr.readline()):
            seen = step_of(text) or seen
        try:
            process.wait(choice.uniform(0, within))
        except subprocess.TimeoutExpired:
            process.kill()
        steps = [seen, *filter(None, map(step_of, process.stderr))]
    return steps[-1] if process.returncode == -signal.SIGKILL else ""


def step_of(text: str) -> str:
    """The first word of one of our own lines of the log."""
    level, _, rest = text.partition(":local_rag.")
    return rest.partition(":")[2].split()[0].rstrip(":") if rest and level.isupper() else ""


def resident(pid: int) -> int:
    """Megabytes of memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("no VmRSS")


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
