"""An ingest that is asked to stop says so as any other failure is said, and loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from local_rag.settings import PROJECT_DIR
from tests.conftest import Corpus, Run
from tests.fake_ollama import FakeOllama


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_ingest_that_is_stopped_is_one_line_and_valid_json(
    corpus: Corpus, ollama: FakeOllama, run: Run, number: signal.Signals
) -> None:
    corpus.write("a.md", "# A\n\nalpha\n")
    # A job in the background of a shell ignores Ctrl-C, and so would what it starts.
    before = signal.signal(number, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "ingest.py", "--json"], cwd=PROJECT_DIR, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    signal.signal(number, before)

    def stop(texts: Sequence[str]) -> None:
        process.send_signal(number)

    ollama.before_embed = stop
    output, errors = process.communicate(timeout=60)
    said = "Stopped. Finished embeddings are kept; run it again."
    assert process.returncode == 2
    assert json.loads(output) == {"error": said, "exit_code": 2}
    assert errors.splitlines()[-1] == f"error: {said}"
    ollama.before_embed = lambda texts: None
    assert run().new == 1
