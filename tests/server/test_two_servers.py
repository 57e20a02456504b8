"""Two servers and an ingest on one store at the same time."""

from __future__ import annotations

import threading

import pytest

from tests.conftest import Corpus, Run
from tests.server.test_stdio import server


def test_two_servers_answer_right_while_an_ingest_runs(
    corpus: Corpus, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    for n in range(40):
        corpus.write(f"{n:02}.md", f"# Note {n}\n\nalpha marker{n}x\n")
    run()
    failures: list[BaseException] = []

    def ingest() -> None:
        try:
            for turn in range(4):
                corpus.write("moving.md", f"alpha turn{turn}x\n")
                run()
        except BaseException as error:  # noqa: BLE001 - told below, on the test's own thread
            failures.append(error)

    with server() as one, server() as two:
        for client in (one, two):
            client.initialize()
        thread = threading.Thread(target=ingest)
        thread.start()
        asked = 0
        while thread.is_alive() or asked < 20:
            for client in (one, two):
                n = asked % 40
                found = client.call("search_corpus", query=f"marker{n}x")["structuredContent"]
                assert [hit["path"] for hit in found["hits"]] == [f"{n:02}.md"]
                listed = client.call("list_files", limit=1)["structuredContent"]
                assert listed["total"] in {40, 41}
                page = client.call("get_file", path=f"{n:02}.md")["structuredContent"]
                assert page["text"].endswith(f"marker{n}x\n")
            asked += 1
        thread.join()
        assert not failures
        for client in (one, two):
            last = client.call("grep_corpus", pattern="turn3x")["structuredContent"]
            assert last["total"] == 1
