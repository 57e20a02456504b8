"""The closing report: by reason for a person, whole for a program, the last one in the manifest."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from local_rag.cli.ingest import main
from local_rag.cli.summary import outcome, summary, table
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.documents.formats.converter import Converter
from local_rag.documents.formats.extract import Extract
from local_rag.documents.formats.registry import Format
from local_rag.index.manifest import IngestReport, Remark, set_aside
from local_rag.index.snapshots import Store
from local_rag.ingest.report import Report, reason_of


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("encoding guessed: cp1251", "encoding guessed"),
        ("line 12 looks like a secret: GitHub token", "looks like a secret"),
        ("front matter does not parse (x: y): taken as text", "front matter does not parse"),
        ("lifecycle 'x' is unknown (a, b): taken as active", "lifecycle is unknown"),
        ("3 characters are not UTF-8", "characters are not UTF-8"),
        ("larger than 5 MB", "larger than 5 MB"),
        ("not a document format", "not a document format"),
        ('lifecycle "it\'s (so: so)" is unknown (a, b): taken as active', "lifecycle is unknown"),
        ("rag 'x: y' is unknown (false leaves a document out): indexed", "rag is unknown"),
        ("can't be read: isn't text", "can't be read"),
    ],
)
def test_remarks_of_one_kind_have_one_reason(text: str, reason: str) -> None:
    assert reason_of(text) == reason


REPORT = Report(
    new=3,
    unchanged=2,
    files=5,
    chunks=9,
    embedder="none",
    skipped=[
        SkippedFile("r", "a.bin", SkipKind.LEFT_OUT, "not a document format"),
        SkippedFile("r", "b.md", SkipKind.FAILED, "undecodable"),
        SkippedFile("r", "two\nlines.md", SkipKind.FAILED, "binary"),
        SkippedFile("r", ".env", SkipKind.SECRET, "secret file by its name"),
        SkippedFile("r", "e.md", SkipKind.LEFT_OUT, "excluded by rag: false", sha256="e"),
    ],
    warnings=[Remark("r", "c.md", "encoding guessed: cp1251"),
              Remark("r", "d.md", "encoding guessed: big5")],
)  # fmt: skip


def test_the_report_names_troubles_and_counts_by_reason_in_plain_lines() -> None:
    assert list(summary(REPORT)) == [
        "skipped: r:b.md: undecodable",
        "skipped: r:two\\nlines.md: binary",
        "secret: r:.env: secret file by its name",
        "warning: r:c.md: encoding guessed: cp1251",
        "warning: r:d.md: encoding guessed: big5",
        "skipped in total: 1 undecodable, 1 binary",
        "left out: 1 not a document format, 1 secret file by its name, 1 excluded by rag: false",
        "warned in total: 2 encoding guessed",
    ]
    assert outcome(REPORT) == (
        "nothing to publish: 5 files, 9 chunks (3 new, 0 changed, 0 renamed, 0 deleted,"
        " 2 unchanged; 0 chunks embedded with none)"
    )


def test_on_a_terminal_the_counts_are_a_table() -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(table(REPORT))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert [line.split(maxsplit=1) for line in shown.splitlines()[1:]] == [
        ["3", "indexed                           "],
        ["2", "unchanged                         "],
        ["1", "skipped    undecodable            "],
        ["1", "skipped    binary                 "],
        ["1", "left out   not a document format  "],
        ["1", "left out   secret file by its name"],
        ["1", "left out   excluded by rag: false "],
        ["2", "warned     encoding guessed       "],
    ]


def test_only_some_of_many_troubles_are_named_unless_all_are_asked_for() -> None:
    report = Report(warnings=[Remark("r", f"{n}.md", "odd") for n in range(12)])
    assert list(summary(report, counts=False))[-1] == ("warning: and 2 more (--verbose names all)")
    assert len(list(summary(report, counts=False, verbose=True))) == 12


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\ntext\n")
    (folder / "b.md").write_bytes("Привет, мир\n".encode("cp1251"))
    (folder / "c.md").write_bytes(bytes(range(256)) * 9)
    (folder / ".env").write_text("X=1\n")
    for name in [name for name in os.environ if name.startswith("RAG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAG_CORPUS_DIR", str(folder))
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("RAG_EMBEDDER", "none")
    mask = os.umask(0o077)
    yield folder
    os.umask(mask)


def test_json_is_the_whole_report(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert {name: report[name] for name in (
        "indexed", "unchanged", "files", "exit_code", "skipped_by_reason", "left_out_by_reason",
        "warned_by_reason",
    )} == {
        "indexed": 2, "unchanged": 0, "files": 2, "exit_code": 1,
        "skipped_by_reason": {"binary": 1},
        "left_out_by_reason": {"secret file by its name": 1},
        "warned_by_reason": {"encoding guessed": 1},
    }  # fmt: skip
    assert [(s["path"], s["secret"]) for s in report["skipped"]] == [
        (".env", True),
        ("c.md", False),
    ]


def test_the_last_report_is_in_the_manifest(corpus: Path, tmp_path: Path) -> None:
    main(["--json"])
    report = Store(tmp_path / "store").current().manifest.report
    assert [s.path for s in report.skipped] == [".env", "c.md"]
    assert report.skipped_by_reason == {"secret file by its name": 1, "binary": 1}
    assert report.warned_by_reason == {"encoding guessed": 1}


def test_an_unmounted_folder_is_an_error_that_says_what_to_do(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([])
    for file in corpus.iterdir():
        file.unlink()
    capsys.readouterr()
    assert main([]) == 2
    assert capsys.readouterr().err == (
        f"error: {corpus} holds no documents, but the index has some from it."
        " Mount the disk, or pass --allow-empty to remove them.\n"
    )


def test_what_cannot_be_read_is_not_tried_again_until_it_changes(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "d.ipynb").write_text("no notebook")
    asked = []
    convert = Converter.convert

    def counted(self: Converter, kind: Format, data: bytes) -> Extract:
        asked.append(data)
        return convert(self, kind, data)

    monkeypatch.setattr(Converter, "convert", counted)
    assert [main(["--json"]) for _ in range(3)] == [1, 1, 1]
    assert asked == [b"no notebook"]
    (corpus / "d.ipynb").write_text('{"cells": []}')
    main(["--json"])
    main(["--json", "--rebuild"])
    assert asked == [b"no notebook", b'{"cells": []}', b'{"cells": []}']


NEEDS_A_PERSON = {
    "left out by choice": (Report(skipped=[SkippedFile("r", "a", SkipKind.LEFT_OUT, "x")]), 0),
    "a secret": (Report(skipped=[SkippedFile("r", "a", SkipKind.SECRET, "x")]), 0),
    "no text": (Report(skipped=[SkippedFile("r", "a", SkipKind.NO_TEXT, "x")]), 0),
    "odd, but indexed": (Report(warnings=[Remark("r", "a", "encoding guessed: cp1251")]), 0),
    "unreadable": (Report(skipped=[SkippedFile("r", "a", SkipKind.UNREADABLE, "x")]), 1),
    "not converted": (Report(skipped=[SkippedFile("r", "a", SkipKind.FAILED, "x")]), 1),
    "ignore file broken": (Report(skipped=[SkippedFile("r", "a", SkipKind.UNDECIDED, "x")]), 1),
    "not embedded": (Report(failed=[Remark("r", "a", "x")]), 1),
    "lifecycle unknown": (Report(undecided=["r:a"]), 1),
    "vectors unusable": (Report(vectors_unusable="Ollama is not running."), 1),
}


@pytest.mark.parametrize("case", NEEDS_A_PERSON)
def test_the_exit_code_is_one_if_something_needs_a_person(case: str) -> None:
    report, exit_code = NEEDS_A_PERSON[case]
    assert report.exit_code == exit_code
    assert report.to_json()["exit_code"] == exit_code


@pytest.mark.parametrize(
    ("head", "exit_code"),
    [
        ("lifecycle: retired", 1),
        ("Lifecycle: Superseded", 0),
        ("rag: maybe", 1),
        ("rag: yes", 0),
        ("rag_chunk: big", 0),
    ],
)
def test_an_unknown_value_that_could_hide_a_document_needs_a_person_until_it_is_corrected(
    corpus: Path, head: str, exit_code: int
) -> None:
    (corpus / "c.md").write_text(f"---\n{head}\n---\ntext\n")
    assert [main([]), main([]), main(["--rebuild"])] == [exit_code] * 3


def test_a_broken_ignore_file_for_all_roots_needs_a_person(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / ".ragignore").write_text("c.md\n")
    assert main([]) == 0
    (tmp_path / ".ragignore").write_text("c.md\n!\n")
    assert main([]) == 1


KINDS_OF_OLD = [
    ({"reason": "asks to be left out (rag: false)", "wanted": False, "secret": False,
      "sha256": "1"}, SkipKind.LEFT_OUT),
    ({"reason": "holds a private key (line 3)", "wanted": False, "secret": True,
      "sha256": "1"}, SkipKind.SECRET),
    ({"reason": "holds no text: its pages are pictures", "wanted": True, "secret": False,
      "sha256": "1"}, SkipKind.NO_TEXT),
    ({"reason": "binary", "wanted": True, "secret": False, "sha256": "1"}, SkipKind.FAILED),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind"), KINDS_OF_OLD)
def test_a_report_that_knows_no_kinds_is_read(values: dict[str, object], kind: SkipKind) -> None:
    old = {"root": "r", "path": "a.md"} | values
    report = IngestReport.from_json({"set_aside": [old]})
    (skipped,) = set_aside(report).values()
    assert (skipped.kind, skipped.text, skipped.sha256) == (kind, old["reason"], "1")
    assert report.to_json()["set_aside"] == [old | {"kind": kind, "detail": ""}]


def test_a_report_is_read_as_it_was_kept() -> None:
    skipped = SkippedFile("r", "a.pdf", SkipKind.FAILED, "damaged", "EOF", "1")
    kept = Report(skipped=[skipped], failed=[Remark("r", "b.md", "x")]).lasting()
    assert IngestReport.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    assert kept.to_json()["skipped"] == [
        {"root": "r", "path": "a.pdf", "reason": "damaged: EOF", "wanted": True, "secret": False,
         "sha256": "1", "kind": "failed", "detail": "EOF"}
    ]  # fmt: skip
