"""The server's process: a front that answers at once, while all the rest is being imported.

One thread reads standard input and feeds the front; the main thread imports the SDK and the tools
and then serves what the front has left. Runs on old interpreters, as the front does.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable

from local_rag.server.front import Front, load_data
from local_rag.server.stdin import take_stdin
from local_rag.server.stdout import take_stdout


def serve() -> None:
    """Runs the server on stdin and stdout until stdin closes."""
    # Python's own handler only sets a flag, and the thread that reads stdin never looks at it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    front = Front(load_data(), take_stdout().write)
    threading.Thread(target=_read, args=(take_stdin(), front), daemon=True).start()
    front.wait()
    run = _loaded(front)
    try:
        run(front)
    except Exception:  # noqa: BLE001 - the outermost edge
        traceback.print_exc()
        os._exit(1)  # the thread that reads stdin would keep the interpreter from ending
    os._exit(0)  # and so would one that is just opening the index


def _read(lines: Iterable[str], front: Front) -> None:
    for line in lines:
        front.take(line)
    if not front.end():
        os._exit(0)


def _loaded(front: Front) -> Callable[[Front], None]:
    """What runs the SDK's server. While that can't be imported, calls are told why."""
    import logging

    from local_rag.server.trouble import trouble_of

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    while True:
        try:
            return _imported(front)
        except Exception as error:  # noqa: BLE001, PERF203 - whatever it is, the client is told
            front.wait(for_kept=True)
            if not front.refuse(trouble_of(error)):
                os._exit(0)
            importlib.invalidate_caches()  # the packages may be installed by the next call


def _imported(front: Front) -> Callable[[Front], None]:
    from local_rag.server.trouble import check_python

    check_python()
    from local_rag.server.resource_list import EarlyList

    front.learn(EarlyList())
    from local_rag.server.imports import import_own

    import_own()
    from local_rag.server.app import run_server

    return run_server
