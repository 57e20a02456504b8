"""Imports all that a server may ever need: the checkout may be replaced while it runs.

Modules that wait for their first use elsewhere would then be missing, or be those of another
version.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from contextlib import suppress

import local_rag

NOT_SERVED = (
    "local_rag.__main__",
    "local_rag.cli",
    "local_rag.documents.formats",
    "local_rag.ingest",
    "local_rag.server.front_data",
)
READS = ("local_rag.documents.formats.registry",)  # of the formats, their list alone
NEEDED = ("chromadb", "numpy")
SLOW = ("chromadb", "chromadb.api.rust", "onnxruntime", "tokenizers", "re2", "pathspec")


def import_own() -> None:
    """Imports the project's own modules.

    Raises:
        ImportError: a package that one of them needs is missing.
    """
    for package in NEEDED:  # chromadb takes a second to import, so that is done later
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    found = pkgutil.walk_packages(local_rag.__path__, "local_rag.", onerror=lambda name: None)
    for module in found:
        if not module.name.startswith(NOT_SERVED):
            importlib.import_module(module.name)
    for name in READS:
        importlib.import_module(name)


def import_others() -> None:
    """Imports the packages that are slow to import, as far as they are installed."""
    for package in SLOW:
        with suppress(ImportError):
            importlib.import_module(package)
