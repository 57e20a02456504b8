"""The process in which converters run: a file's bytes in, its text out, until stdin ends.

Separate from ingest, so that a hang, a crash or a bomb costs one file. A request is a line
with the converter's module, the greatest length of text and the seconds of computing, then the
bytes; requests and answers come with their length in four bytes before them. Run it as
`python -m local_rag.documents.formats.worker`.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import struct
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from local_rag.documents.formats.extract import Extract, NoText, Unconvertible

WORKER_MEMORY = (
    1 << 30
)  # bytes of address space; on systems without such a limit, only time is limited


def main() -> None:
    """Answers requests on the pipes that were stdin and stdout."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Output of a library must not mix with the answers.
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    _limit_memory()
    warnings.simplefilter("ignore")
    while (request := receive(requests)) is not None:
        send(answers, answer(request))


def answer(request: bytes) -> bytes:
    """The answer to one request: the extract, or the reason why there is none."""
    head, _, data = request.partition(b"\n")
    module, longest, seconds = head.decode("ascii").split(" ")
    try:
        with _limited_to(float(seconds)):
            found = _extract(module, data)
        if len(found.text) > int(longest):
            raise Unconvertible(f"its text is larger than {int(longest) / 1e6:g} MB")
    except Unconvertible as error:
        return _failure(str(error), no_text=isinstance(error, NoText))
    except MemoryError:
        return _failure("takes too much memory to read")
    except RecursionError:
        return _failure("is nested too deep")
    return found.to_json()


def _extract(module: str, data: bytes) -> Extract:
    converter = importlib.import_module(f"local_rag.documents.formats.{module}")
    try:
        found: Extract = converter.extract(data)
    except (Unconvertible, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a parser trips over in a stranger's file
        raise Unconvertible(f"damaged: {type(error).__name__}: {error}"[:200]) from error
    return found


@contextmanager
def _limited_to(seconds: float) -> Iterator[None]:
    """Ends this process after that much CPU time, if the system can."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _failure(reason: str, *, no_text: bool = False) -> bytes:
    told = {"error": " ".join(reason.split())} | ({"no_text": True} if no_text else {})
    return json.dumps(told).encode()


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (WORKER_MEMORY, WORKER_MEMORY))


def send(pipe: IO[bytes], message: bytes) -> None:
    """Writes a message with its length before it."""
    pipe.write(struct.pack(">I", len(message)))
    pipe.write(message)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """The next message; None when the other side is gone."""
    head = pipe.read(4)
    if len(head) < 4:
        return None
    length = struct.unpack(">I", head)[0]
    message = pipe.read(length)
    return message if len(message) == length else None


if __name__ == "__main__":
    main()
