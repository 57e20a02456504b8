"""Runs converters in a separate process, which is stopped when it takes too long."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

from local_rag.documents.formats.extract import Extract, LibraryMissing, NoText, Unconvertible
from local_rag.documents.formats.registry import Format
from local_rag.documents.formats.worker import receive, send
from local_rag.settings import PROJECT_DIR

# CPU time: on a busy machine 3 s of it took a minute of wall time.
CONVERT_SECONDS = 60.0
WALL_SECONDS = 600.0  # seconds of wall time, for hangs without CPU use; on Windows the only limit
OUT_OF_TIME = -getattr(signal, "SIGPROF", 0) or None  # exit status of a process that ran too long
FILES_PER_PROCESS = 200  # per process, so that leaked memory is returned
INSTALL_FORMATS = "pip install -r requirements/formats.txt"


class Converter:
    """Starts its process on first use. Close it."""

    def __init__(
        self,
        longest: int,
        seconds: float = CONVERT_SECONDS,
        wall: float = WALL_SECONDS,
        command: tuple[str, ...] = (sys.executable, "-m", "local_rag.documents.formats.worker"),
    ) -> None:
        self.seconds, self.wall = seconds, wall
        self._longest, self._command = longest, command
        self._process: subprocess.Popen[bytes] | None = None
        self._done = 0

    def convert(self, kind: Format, data: bytes) -> Extract:
        """The text of a file.

        Raises:
            Unconvertible: it cannot be extracted, or not within the limits.
        """
        if kind.needs and importlib.util.find_spec(kind.needs) is None:
            raise LibraryMissing(f"{kind.name} needs {kind.needs}: {INSTALL_FORMATS}")
        if self._done >= FILES_PER_PROCESS:
            self.close()
        self._done += 1
        head = f"{kind.module} {self._longest} {self.seconds:g}\n"
        values = json.loads(self._ask(head.encode() + data))
        if "error" in values:
            raise (NoText if values.get("no_text") else Unconvertible)(values["error"])
        return Extract.from_json(values)

    def _ask(self, request: bytes) -> bytes:
        process = self._process = self._process or self._start()
        assert process.stdin and process.stdout
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self.wall, stop)
        timer.start()
        try:
            send(process.stdin, request)
            answer = receive(process.stdout)
        except OSError:  # it died before reading everything
            answer = None
        finally:
            timer.cancel()
        if answer is None:
            self.close()
            if late.is_set():
                raise Unconvertible(f"not converted within {self.wall:g} s")
            if process.returncode == OUT_OF_TIME:
                raise Unconvertible(f"not converted within {self.seconds:g} s of computing")
            raise Unconvertible("the converter crashed on this file")
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=PROJECT_DIR,
            # pypdf hands a stream that says it is JBIG2 to a `jbig2dec` that it finds on PATH.
            env=os.environ | {"PATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """Ends the process."""
        process, self._process, self._done = self._process, None, 0
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        process.wait()
