"""Bounds what one call over HTTP may take: its whole time and the size of its answer.

httpx has a limit for each read only, so a server that sends a byte now and then holds a caller for
ever, and one whose answer never ends fills the memory.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx

from local_rag.errors import EmbedderAway

LARGEST_ANSWER = 16_000_000  # bytes; eight vectors of 4,096 numbers take under 1 MB
CHECK_HOST = "Check what listens at OLLAMA_HOST."


class CallLimits:
    """Event hooks for an `httpx.Client`, and the time that each call made in `call` has."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.local()  # httpx tells a hook the request, not who makes it

    @property
    def event_hooks(self) -> Mapping[str, list[Any]]:
        """What the client needs as its `event_hooks`."""
        return {"request": [self._watch], "response": [bound_answer]}

    @contextmanager
    def call(self) -> Iterator[None]:
        """Ends every request made inside, all together, when the time is over.

        Raises:
            httpx.ReadTimeout: it was.
        """
        connection = _Connection()
        timer = threading.Timer(self._seconds, connection.cut)
        timer.daemon = True
        self._thread.connection = connection
        timer.start()
        try:
            yield
        except (httpx.HTTPError, OSError, ValueError) as error:  # a cut answer may look like any
            if connection.is_cut:
                raise httpx.ReadTimeout("the time of the call is over") from error
            raise
        finally:
            timer.cancel()
            self._thread.connection = None

    def _watch(self, request: httpx.Request) -> None:
        connection = getattr(self._thread, "connection", None)
        if connection:
            request.extensions["trace"] = connection.trace


class _Connection:
    """The socket that a call waits on, cut from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.is_cut = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Learns of each new connection, as httpcore reports it."""
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        with self._lock:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.is_cut:
                raise httpx.ReadTimeout("the time of the call is over")

    def cut(self) -> None:
        """Wakes whoever reads from the connection."""
        with self._lock:
            self.is_cut = True
            if self._socket:
                with suppress(OSError):  # it is closed already
                    self._socket.shutdown(socket.SHUT_RDWR)


def bound_answer(response: httpx.Response) -> None:
    """Has reading `response` fail once it is larger than `LARGEST_ANSWER`."""
    # A compressed answer of 16 MB may unpack to gigabytes; none is asked for.
    if response.headers.get("content-encoding", "identity") != "identity":
        raise EmbedderAway("The embedder sent a compressed answer.", CHECK_HOST)
    assert isinstance(response.stream, httpx.SyncByteStream)
    response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > LARGEST_ANSWER:
                what = f"The embedder sent an answer of more than {LARGEST_ANSWER // 10**6} MB."
                raise EmbedderAway(what, CHECK_HOST)
            yield part

    def close(self) -> None:
        self._stream.close()
