from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_rag.cli.exit_codes import NOTHING_DONE
from local_rag.cli.ingest import main as ingest
from local_rag.cli.query import main as query
from local_rag.errors import SettingsError
from local_rag.server.app import LazyToolset
from local_rag.settings import PROJECT_DIR, load_settings, read_settings, variable_of


def test_the_defaults_need_no_setting(tmp_path: Path) -> None:
    settings = load_settings()
    assert settings.embedder == "auto"
    assert settings.store_dir == tmp_path / "home" / ".local-rag-mcp" / "store"
    assert settings.roots == ()


def test_relative_folders_are_the_projects_and_not_the_working_directorys(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_CORPUS_DIR", "sample-corpus")
    monkeypatch.setenv("RAG_STORE_DIR", "a-store")
    settings = load_settings()
    assert settings.store_dir == PROJECT_DIR / "a-store"
    assert settings.roots[0].path == PROJECT_DIR / "sample-corpus"


def test_several_folders_are_roots_with_names_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folders = [tmp_path / "work" / "docs", tmp_path / "notes", tmp_path / "home" / "docs"]
    monkeypatch.setenv("RAG_CORPUS_DIR", os.pathsep.join(map(str, folders)))
    first, second, third = load_settings().roots
    assert [first.path, second.path, third.path] == folders
    assert second.name == "notes"
    assert first.name != third.name
    assert first.name.startswith("docs~")


def test_the_environment_wins_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('model = "from-file"\nembedder = "none"\n', encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    monkeypatch.setenv("RAG_EMBEDDER", "builtin")
    settings = load_settings()
    assert (settings.model, settings.embedder) == ("from-file", "builtin")


def test_a_list_of_folders_in_the_file_needs_no_separator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"corpus_dir = ['{tmp_path}/a', '{tmp_path}/b']\n", encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    assert [root.name for root in load_settings().roots] == ["a", "b"]


def test_languages_are_a_list_of_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().languages == ()
    monkeypatch.setenv("RAG_LANGUAGES", " en, RU,")
    assert load_settings().languages == ("en", "ru")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RAG_EMBEDDER", "openai", "RAG_EMBEDDER is 'openai'. It takes auto, ollama, builtin or"),
        ("RAG_MAX_FILE_MB", "-1", "RAG_MAX_FILE_MB is '-1'. It takes a number of megabytes, abo"),
        ("RAG_MAX_FILE_MB", "nan", "RAG_MAX_FILE_MB is 'nan'. It takes a number of megabytes"),
        ("RAG_MAX_FILE_MB", "much", "RAG_MAX_FILE_MB is 'much'. It takes a number of megabytes"),
        ("RAG_MODEL", "", "RAG_MODEL is ''. It takes the name of a model in Ollama, such as emb"),
        ("RAG_CORPUS_DIR", " ", "RAG_CORPUS_DIR is ' '. It takes folders, joined with '"),
        ("RAG_CORPUS_DIR", "~nobody-here/x", "RAG_CORPUS_DIR is '~nobody-here/x'. It takes fold"),
        ("RAG_STORE_DIR", "", "RAG_STORE_DIR is ''. It takes a folder."),
        ("RAG_STORE_DIR", "~nobody-here/x", "RAG_STORE_DIR is '~nobody-here/x'. It takes a fol"),
        ("RAG_BUILTIN_MODEL_DIR", "", "RAG_BUILTIN_MODEL_DIR is ''. It takes a folder with"),
        ("RAG_SECRETS", "x" * 999, f"RAG_SECRETS is '{'x' * 59}.... It takes warn or skip."),
        ("RAG_LANGUAGES", "en,xx", "RAG_LANGUAGES is 'en,xx'. It takes codes such as en,ru, of th"),
        ("RAG_CONFIG", "/no/such/file", "RAG_CONFIG points to /no/such/file, which is not a file"),
    ],
)
def test_a_bad_value_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus_dir = ['a', 3]", "corpus_dir in FILE contains 3. It takes folders, joined"),
        ("corpus_dir = []", "corpus_dir in FILE is []. It takes folders"),
        ("corpus_dir = ['']", "corpus_dir in FILE is ['']. It takes folders"),
        ("embedder = 3", "embedder in FILE is 3. It takes auto, ollama, builtin or none."),
        ("store_dir = 3", "store_dir in FILE is 3. It takes a folder."),
        ("ollama_host = 3", "ollama_host in FILE is 3. It takes an address, such as http://127"),
        ("not toml", "FILE is not valid TOML: "),
        (r'corpus_dir = "a\u0000b"', r"corpus_dir in FILE is 'a\x00b'. It takes folders"),
        (r'store_dir = "a\u0000b"', r"store_dir in FILE is 'a\x00b'. It takes a folder."),
        (
            r'builtin_model_dir = "\u0000"',
            r"builtin_model_dir in FILE is '\x00'. It takes a folder",
        ),
        ("corpus_dir = ['/a', '/a']", "corpus_dir in FILE lists /a more than once. List it once."),
    ],
)
def test_a_misspelt_or_broken_file_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    monkeypatch.delenv("OLLAMA_HOST")
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value).startswith(message.replace("FILE", str(config)))
    assert "\n" not in str(error.value)


def test_a_file_may_begin_with_the_mark_that_editors_on_windows_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    monkeypatch.setenv("RAG_CONFIG", str(config))
    config.write_text("model = 'other'\n", encoding="utf-8-sig")
    assert load_settings().model == "other"
    config.write_text("model = 'other'\n", encoding="utf-16")
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value) == f"{config} is not UTF-8. Save it as UTF-8."


def test_the_host_of_ollama_is_named_by_the_variable_that_sets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert variable_of("ollama_host") == "OLLAMA_HOST"
    monkeypatch.setenv("RAG_OLLAMA_HOST", "http://127.0.0.1:1")
    assert load_settings().ollama_host == "http://127.0.0.1:1"
    assert variable_of("ollama_host") == "RAG_OLLAMA_HOST"


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (["", "inner"], "lists {0}/inner, which is inside {0}. List only one of them."),
        (["inner", ""], "lists {0}/inner, which is inside {0}. List only one of them."),
        (["", ""], "lists {0} more than once. List it once."),
        (["a", "b", "link"], "lists {0}/a more than once. List it once."),
        (["", "inner", "inner"], "lists {0}/inner more than once. List it once."),
    ],
)
def test_folders_that_overlap_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders: list[str], said: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    joined = os.pathsep.join(str(tmp_path / folder) for folder in folders)
    monkeypatch.setenv("RAG_CORPUS_DIR", joined)
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value) == f"RAG_CORPUS_DIR {said.format(tmp_path)}"


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        ("store", "is {0}/store, which is the corpus folder {0}/store."),
        ("link", "is {0}/store, which is the corpus folder {0}/store."),
        ("store/snapshots", "is {0}/store, which contains the corpus folder {0}/store/snapshots."),
    ],
)
def test_a_store_that_would_index_itself_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corpus: str, said: str
) -> None:
    (tmp_path / "store" / "snapshots").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "store")
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("RAG_CORPUS_DIR", str(tmp_path / corpus))
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value) == (
        f"RAG_STORE_DIR {said.format(tmp_path)} Give the store a folder of its own."
    )


def test_a_corpus_beside_the_index_in_the_stores_folder_is_none_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_STORE_DIR", str(tmp_path))
    monkeypatch.setenv("RAG_CORPUS_DIR", str(tmp_path / "docs"))
    assert load_settings().roots[0].path == tmp_path / "docs"


def test_a_misspelt_variable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_CORPUS", "x")
    assert read_settings().warnings == (
        "Unknown variable RAG_CORPUS ignored. Did you mean RAG_CORPUS_DIR?",
    )


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("corpus_dri", "Did you mean corpus_dir?"),
        ("RAG_CORPUS_DIR", "Did you mean corpus_dir?"),
        ("rag_corpus_dir", "Did you mean corpus_dir?"),
        ("Model", "Did you mean model?"),
        ("zzz", "There are: corpus_dir, store_dir, embedder, model, ollama_host, "),
    ],
)
def test_a_key_that_another_version_may_know_is_ignored_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str, hint: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"{key} = 'x'\nembedder = 'none'\n", encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    loaded = read_settings()
    assert loaded.settings.embedder == "none"
    (line,) = loaded.warnings
    assert line.startswith(f"Unknown setting {key!r} in {config} ignored. {hint}")


def test_every_program_tells_what_it_ignores(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("RAG_MODLE", "x")
    said = "Unknown variable RAG_MODLE ignored. Did you mean RAG_MODEL?"
    for command in (ingest, query):
        command(["--verify"] if command is ingest else ["status"])
        assert capsys.readouterr().err.splitlines()[0] == f"warning: {said}"
    LazyToolset()().close()
    assert caplog.messages == [said]


def test_an_ingest_without_a_corpus_says_what_to_set_and_touches_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ingest([]) == NOTHING_DONE
    said = capsys.readouterr().err.splitlines()[-1]
    config = tmp_path / "home" / ".local-rag-mcp" / "config.toml"
    assert said == (
        f"error: No documents are configured. Set corpus_dir in {config}, or RAG_CORPUS_DIR. "
        "To try it first: make demo"
    )
    assert not (tmp_path / "home" / ".local-rag-mcp" / "store" / "CURRENT").exists()


@pytest.mark.parametrize("in_file", [False, True])
def test_a_folder_that_is_gone_is_blamed_on_the_place_where_it_was_set(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    in_file: bool,
) -> None:
    config, gone = tmp_path / "config.toml", tmp_path / "gone"
    config.write_text(f"corpus_dir = ['{gone}']\n" if in_file else "", encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    if not in_file:
        monkeypatch.setenv("RAG_CORPUS_DIR", str(gone))
    assert ingest([]) == NOTHING_DONE
    where = f"corpus_dir in {config}" if in_file else "RAG_CORPUS_DIR"
    assert capsys.readouterr().err.splitlines() == [
        f"error: The corpus folder {gone} cannot be read (No such file or directory). "
        f"Mount the disk, or change {where} to a folder that exists."
    ]


def test_ollamas_own_variable_counts_where_ours_is_not_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('ollama_host = "file:1"\n', encoding="utf-8")
    monkeypatch.setenv("RAG_CONFIG", str(config))
    monkeypatch.delenv("OLLAMA_HOST")
    assert load_settings().ollama_host == "file:1"
    monkeypatch.setenv("OLLAMA_HOST", "theirs:2")
    assert load_settings().ollama_host == "theirs:2"
    monkeypatch.setenv("RAG_OLLAMA_HOST", "ours:3")
    assert load_settings().ollama_host == "ours:3"


def test_a_settings_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".local-rag-mcp" / "config.toml").mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"config\.toml cannot be read"):
        load_settings()


@pytest.mark.parametrize(
    ("module", "unneeded"),
    [
        ("local_rag.settings", "markdown_it pydantic_settings numpy"),
        (
            "local_rag.server.start",
            "mcp mcp_types pydantic anyio local_rag.settings chromadb numpy",
        ),
        (
            "local_rag.cli.ingest",
            "markdown_it chromadb numpy ollama yaml rich httpx snowballstemmer",
        ),
    ],
)
def test_what_starts_often_imports_nothing_that_it_may_not_need(module: str, unneeded: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({unneeded.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT_DIR, capture_output=True,
                          check=True, text=True)  # fmt: skip
    assert done.stdout.split() == []
