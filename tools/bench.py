#!/usr/bin/env python3
"""Times what people wait for, side by side with the least that it could take.

ingest     a run in which nothing has changed, against reading and hashing the same files
handshake  the server's answer to `initialize`, against a minimal server of the SDK
search     answers of a real server over the same documents, without a baseline

The two sides take turns, each in its own process. Each ratio compares neighbouring runs; the result
is the median ratio. CPU time (of a process and its children) hardly depends on what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
SUBJECTS = ("ingest", "handshake", "search")
LAYOUTS = ("flat", "nested", "git")
WORDS = 400  # distinct words in the notes
BASELINE = """
import hashlib, os, sys
for folder, folders, names in os.walk(sys.argv[1]):
    if ".git" in folders:
        folders.remove(".git")
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            hashlib.sha256(file.read()).hexdigest()
"""
MINIMAL = """
from mcp.server import MCPServer
server = MCPServer("minimal")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "bench", "version": "1"}},
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Comparison:
    """Medians in seconds, and the median ratio of neighbouring runs."""

    what: str
    ours: Cost
    least: Cost
    wall_ratio: float
    cpu_ratio: float
    cpu_ratios: tuple[float, ...]


def compare(
    what: str, ours: Callable[[], Cost], least: Callable[[], Cost], runs: int
) -> Comparison:
    """Runs both in turn, after one uncounted run of each."""
    ours(), least()
    pairs = [(ours(), least()) for _ in range(runs)]
    ratios = tuple(round(a.cpu / b.cpu, 3) for a, b in pairs)
    wall = statistics.median(a.wall / b.wall for a, b in pairs)
    mine, theirs = (_median([pair[side] for pair in pairs]) for side in (0, 1))
    cpu = round(statistics.median(ratios), 3)
    return Comparison(what, mine, theirs, round(wall, 3), cpu, ratios)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        round(statistics.median(c.wall for c in costs), 4),
        round(statistics.median(c.cpu for c in costs), 4),
    )


def cost_of(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """The cost of a command from start to end, including its child processes."""
    before, start = used(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return Cost(time.perf_counter() - start, used() - before)


def used() -> float:
    """The CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cost_of_hello(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """The cost of a server: wall time until it answers `initialize`, CPU time until it ends."""
    before, start = used(), time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    ) as server:
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        wall = time.perf_counter() - start
        assert answer["result"]["serverInfo"], answer
        server.stdin.close()
    return Cost(wall, used() - before)


def make_corpus(folder: Path, files: int, layout: str) -> None:
    """Writes notes of about 400 bytes: in 100 folders, four levels deep, or committed to git."""
    chance = random.Random(1)  # noqa: S311 - distinct texts, not secrets
    words = ["".join(chance.choices("abcdefghilmnoprstu", k=6)) for _ in range(WORDS)]
    for n in range(files):
        at = f"{n % 10}/{n // 10 % 10}/{n // 100 % 10}/{n % 3}" if layout == "nested" else n % 100
        place = folder / str(at)
        place.mkdir(parents=True, exist_ok=True)
        text = f"# Note {n}\n\n{' '.join(chance.choices(words, k=55))}\n"
        (place / f"note-{n:05}.md").write_text(text, encoding="utf-8")
    if layout == "git":
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        for arguments in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "notes")):
            subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def environment_for(folder: Path, embedder: str) -> dict[str, str]:
    """The settings of a run over `folder`/notes, without the user's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_", "GIT_"))}
    (folder / "config.toml").touch()
    return kept | {
        "RAG_CORPUS_DIR": str(folder / "notes"), "RAG_STORE_DIR": str(folder / "store"),
        "RAG_CONFIG": str(folder / "config.toml"), "RAG_EMBEDDER": embedder,
    }  # fmt: skip


def bench_ingest(
    folder: Path, layout: str, environment: Mapping[str, str], runs: int
) -> Comparison:
    """Compares a run without changes with reading and hashing."""
    ours = [sys.executable, str(PROJECT / "ingest.py")]
    least = [sys.executable, "-c", BASELINE, str(folder / "notes")]
    sides = (lambda: cost_of(ours, environment)), (lambda: cost_of(least, environment))
    return compare(f"no-change ingest, {layout}", *sides, runs)


def bench_handshake(environment: Mapping[str, str], runs: int) -> Comparison:
    """Compares the server with a minimal one."""
    ours, least = [sys.executable, str(PROJECT / "server.py")], [sys.executable, "-c", MINIMAL]
    hello = cost_of_hello
    sides = (lambda: hello(ours, environment)), (lambda: hello(least, environment))
    return compare("handshake", *sides, runs)


async def bench_search(
    folder: Path, environment: Mapping[str, str], count: int
) -> dict[str, float]:
    """Milliseconds until a server answers a query of three words; the first query separately."""
    server = StdioServerParameters(
        command=sys.executable, args=[str(PROJECT / "server.py")], env=dict(environment)
    )
    notes = sorted((folder / "notes").rglob("*.md"))
    chance = random.Random(2)  # noqa: S311
    times = []
    async with Client(stdio_client(server)) as client:
        for _ in range(count + 1):
            words = chance.choice(notes).read_text(encoding="utf-8").split()[3:]
            query = " ".join(chance.sample(words, k=3))
            start = time.perf_counter()
            answer = await client.call_tool("search_corpus", {"query": query})
            times.append((time.perf_counter() - start) * 1000)
            assert (answer.structured_content or {})["hits"], query
    first, rest = times[0], sorted(times[1:])
    p95 = rest[len(rest) * 95 // 100]
    return {"first": first, "median": statistics.median(rest), "p95": p95}


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Prints the comparisons as a table."""
    table = Table(box=None, pad_edge=False)
    for heading in ("what", "wall", "least", "ratio", "CPU", "least", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for c in comparisons:
        table.add_row(
            c.what, f"{c.ours.wall:.2f} s", f"{c.least.wall:.2f} s", f"{c.wall_ratio:.2f}",
            f"{c.ours.cpu:.2f} s", f"{c.least.cpu:.2f} s", f"{c.cpu_ratio:.2f}",
        )  # fmt: skip
    Console().print(table)


def main() -> None:
    """Measures what the command line asks for."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("bench.py", description=__doc__, formatter_class=plain)
    parser.add_argument("subjects", nargs="*", choices=[[], *SUBJECTS], default=[],
                        metavar="SUBJECT", help="what to time; default: all three")  # fmt: skip
    parser.add_argument(
        "--layout",
        choices=LAYOUTS,
        action="append",
        help="where the notes lie; default: each in turn",
    )
    parser.add_argument("--files", type=int, default=30_000, help="number of notes")
    parser.add_argument("--runs", type=int, default=7, help="number of pairs of runs")
    parser.add_argument("--embedder", choices=("none", "builtin", "ollama"), default="none",
                        help="what the index is built with")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    subjects = options.subjects or SUBJECTS
    comparisons: list[Comparison] = []
    latency: dict[str, float] = {}
    layouts = (options.layout or LAYOUTS) if "ingest" in subjects else ("flat",)
    for layout in layouts:
        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            folder = Path(name).resolve()
            environment = environment_for(folder, options.embedder)
            make_corpus(folder / "notes", options.files, layout)
            cost_of([sys.executable, str(PROJECT / "ingest.py")], environment)
            if "ingest" in subjects:
                comparisons.append(bench_ingest(folder, layout, environment, options.runs))
            if layout == layouts[-1] and "handshake" in subjects:
                comparisons.append(bench_handshake(environment, options.runs))
            if layout == layouts[-1] and "search" in subjects:
                latency = anyio.run(bench_search, folder, environment, 100)
    if options.json:
        result = {"files": options.files, "embedder": options.embedder, "search_ms": latency}
        print(json.dumps(result | {"comparisons": [asdict(c) for c in comparisons]}, indent=1))
        return
    print_comparisons(comparisons)
    if latency:
        print("search: " + ", ".join(f"{name} {value:.0f} ms" for name, value in latency.items()))


if __name__ == "__main__":
    main()
