"""Has files converted in a process of its own that is stopped when it takes too long.

Leaves out the conversion (`worker` and one module a format).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from contextlib import suppress

from local_rag.formats import Format
from local_rag.formats.extract import Extract, LibraryMissing, Unconvertible
from local_rag.formats.worker import receive, send
from local_rag.settings import PROJECT_DIR

SECONDS = 60.0
FILES = 200  # converted by one process, so that what a library leaks is given back
INSTALL = "pip install -r requirements/formats.txt"


class Converter:
    """Starts its process when it is first needed. Close it."""

    def __init__(
        self,
        longest: int,
        seconds: float = SECONDS,
        command: tuple[str, ...] = (sys.executable, "-m", "local_rag.formats.worker"),
    ) -> None:
        self.seconds = seconds
        self._longest, self._command = longest, command
        self._process: subprocess.Popen[bytes] | None = None
        self._done = 0

    def convert(self, kind: Format, data: bytes) -> Extract:
        """The text of a file.

        Raises:
            Unconvertible: there is none to be had, or not within the limits.
        """
        if kind.needs and importlib.util.find_spec(kind.needs) is None:
            raise LibraryMissing(f"{kind.name} needs {kind.needs}: {INSTALL}")
        if self._done >= FILES:
            self.close()
        self._done += 1
        values = json.loads(self._ask(f"{kind.module} {self._longest}\n".encode() + data))
        if "error" in values:
            raise Unconvertible(values["error"])
        return Extract.from_json(values)

    def _ask(self, request: bytes) -> bytes:
        process = self._process = self._process or self._start()
        assert process.stdin and process.stdout
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self.seconds, stop)
        timer.start()
        try:
            send(process.stdin, request)
            answer = receive(process.stdout)
        except OSError:  # it died before it had read everything
            answer = None
        finally:
            timer.cancel()
        if answer is None:
            self.close()
            if late.is_set():
                raise Unconvertible(f"not converted within {self.seconds:g} s")
            raise Unconvertible("crashed its converter")
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=PROJECT_DIR,
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
