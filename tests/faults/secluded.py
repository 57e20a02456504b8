"""An ingest and a search in a network of their own that leads nowhere, and what the kernel counted.

    unshare -n python -m tests.faults.secluded

The counts hold whatever code it was that reached for the network, Chroma's Rust as well as Python.
At the end something does reach for it, to prove that it would have been counted.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

from local_rag.cli.ingest import main as ingest
from local_rag.settings import load_settings
from local_rag.tools.toolset import open_toolset
from tests.fake_ollama import FakeOllama

UP = 0x1 | 0x40  # IFF_UP, IFF_RUNNING
SIOCSIFFLAGS = 0x8914


def raise_loopback() -> None:
    """Makes the one network interface there is work."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", UP))


def counted() -> dict[str, int]:
    """What left for nowhere, and what connections and datagrams were begun at all."""
    lines = Path("/proc/self/net/snmp").read_text(encoding="utf-8").splitlines()
    tables = zip(lines[::2], lines[1::2], strict=True)
    found = {
        f"{names.split()[0]}{name}": int(value)
        for names, values in tables
        for name, value in zip(names.split()[1:], values.split()[1:], strict=True)
    }
    six = Path("/proc/self/net/snmp6")
    if six.exists():
        found |= {k: int(v) for k, v in map(str.split, six.read_text("utf-8").splitlines())}
    return {
        "to nowhere": found["Ip:OutNoRoutes"] + found.get("Ip6OutNoRoutes", 0),
        "connections": found["Tcp:ActiveOpens"],
        "datagrams": found["Udp:OutDatagrams"] + found.get("Udp6OutDatagrams", 0),
    }


def stray() -> None:
    """What a program does that phones home: it looks up a name, and connects to an address."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.sendto(b"?", ("192.0.2.1", 53))
    with suppress(OSError):
        socket.create_connection(("192.0.2.1", 443), timeout=1)


def main() -> None:
    raise_loopback()
    ollama = FakeOllama()
    os.environ["OLLAMA_HOST"] = ollama.host
    code = ingest([])
    tools = open_toolset(load_settings())
    found = tools.call("search_corpus", {"query": "alpha1"})
    tools.close()
    hits = len((found.structured or {})["hits"])
    figures = counted() | {"requests": ollama.requests, "hits": hits}
    stray()
    figures |= {"exit code": code, "strayed": counted()["to nowhere"]}
    ollama.stop()
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
