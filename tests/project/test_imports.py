"""The arrows between the wings, held by import-linter and by a look at the folders."""

from __future__ import annotations

import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from local_rag.settings import PROJECT_DIR

PACKAGE = PROJECT_DIR / "local_rag"
MOST_MODULES = 16  # of a folder; documents/formats has one per format


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def test_the_contracts_hold() -> None:
    done = lint(PROJECT_DIR)
    assert (done.returncode, done.stdout.count("KEPT"), "BROKEN" in done.stdout) == (0, 4, False)


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("reading/grep.py", "import local_rag.ingest.run", "arrows go one way"),
        ("ingest/run.py", "import local_rag.search.hybrid", "ingest does not read as a server"),
        ("server/app.py", "import local_rag.ingest.run", "the server imports no code that writes"),
        ("search/hybrid.py", "import chromadb", "each library has one door"),
    ],
)
def test_a_broken_contract_is_found(tmp_path: Path, module: str, line: str, contract: str) -> None:
    shutil.copytree(PACKAGE, tmp_path / "local_rag")
    shutil.copy(PROJECT_DIR / "pyproject.toml", tmp_path)
    broken = tmp_path / "local_rag" / module
    text = broken.read_text(encoding="utf-8")
    future = "from __future__ import annotations\n"
    broken.write_text(text.replace(future, f"{future}{line}\n", 1), encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1
    assert any(contract in said and "BROKEN" in said for said in done.stdout.splitlines())


def test_no_folder_has_more_modules_than_a_reader_can_take_in() -> None:
    for folder in (PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())):
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= MOST_MODULES or folder.name == "formats", folder


def test_no_imports_go_in_a_circle() -> None:
    graph = grimp.build_graph("local_rag", cache_dir=None)  # imports inside functions count too
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError
