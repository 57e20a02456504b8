"""Every option, from the environment and one TOML file, validated once.

Relative paths resolve against the project's folder, never the working directory: MCP clients
launch the server from anywhere. Leaves out per-document options, which are front matter.

The two sources are read here rather than by pydantic-settings: to import that takes 0.1 s of CPU,
in every run of a scheduler that finds nothing to do and before every handshake.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from local_rag.errors import SettingsError

Secrets = Literal["warn", "skip"]
PROJECT_DIR = Path(__file__).resolve().parent.parent
DEFAULT_CONFIG = "~/.local-rag-mcp/config.toml"


@dataclass(frozen=True)
class Root:
    """One corpus folder: the `name` hits carry, and its resolved `path`."""

    name: str
    path: Path


class Settings(BaseModel):
    """The options of one run. Environment variables win over the TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    # The descriptions go on from "It takes" in the error of a value that is none of these.
    corpus_dir: Annotated[
        tuple[str, ...],
        Field(description=f"folders, joined with '{os.pathsep}' or, in the file, as a list"),
    ] = ()
    store_dir: Annotated[Path, Field(description="a folder")] = Path("~/.local-rag-mcp/store")
    embedder: Annotated[
        Literal["auto", "ollama", "builtin", "none"],
        Field(description="auto, ollama, builtin or none"),
    ] = "auto"
    model: Annotated[
        str,
        Field(min_length=1, description="the name of a model in Ollama, such as embeddinggemma"),
    ] = "embeddinggemma"
    ollama_host: Annotated[str, Field(description="an address, such as http://127.0.0.1:11434")] = (
        "http://127.0.0.1:11434"
    )
    allow_cloud: Annotated[bool, Field(description="1 to let Ollama pass texts on, or 0")] = False
    builtin_model_dir: Annotated[
        Path | None, Field(description="a folder with model.onnx and its vocabulary")
    ] = None
    secrets: Annotated[Secrets, Field(description="warn or skip")] = "warn"
    languages: Annotated[tuple[str, ...], Field(description="codes such as en,ru")] = ()
    max_file_mb: Annotated[
        float, Field(gt=0, le=1024, description="a number of megabytes, above 0 and up to 1024")
    ] = 5.0

    @field_validator("corpus_dir", mode="before")
    @classmethod
    def _split_folders(cls, value: object) -> object:
        if isinstance(value, str):
            value = [part for part in value.split(os.pathsep) if part.strip()]
        if value == []:  # set, but to nothing
            raise ValueError
        return value

    @field_validator("corpus_dir")
    @classmethod
    def _no_empty_folder(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(folder.strip() for folder in value):
            raise ValueError
        for folder in value:
            resolve_path(Path(folder))
        return value

    @field_validator("languages", mode="before")
    @classmethod
    def _split_languages(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("languages")
    @classmethod
    def _no_unknown_language(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and set(value) - set(_known_languages()):
            raise ValueError
        return value

    @field_validator("store_dir", "builtin_model_dir", mode="before")
    @classmethod
    def _not_empty(cls, value: object) -> object:
        if isinstance(value, str) and not value.strip():  # else the project's own folder
            raise ValueError
        return value

    @field_validator("store_dir", "builtin_model_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else resolve_path(value)

    @property
    def max_file_bytes(self) -> int:
        """The size in bytes over which a file is skipped."""
        return int(self.max_file_mb * 1e6)

    @property
    def roots(self) -> tuple[Root, ...]:
        """The corpus folders in order, each with a name of its own; none if none is set.

        A folder's name is its last path part; folders that share one get a short hash of their
        path behind it, so that their order in the setting doesn't matter.
        """
        paths = [Path(os.path.realpath(resolve_path(Path(folder)))) for folder in self.corpus_dir]
        names = Counter(root_name(path) for path in paths)
        return tuple(
            Root(root_name(p) + ("" if names[root_name(p)] == 1 else f"~{short_hash(p)}"), p)
            for p in paths
        )


def resolve_path(path: Path) -> Path:
    """`path` with `~` expanded, relative to the project's folder.

    Raises:
        ValueError: it starts with the home folder of someone who is not known here, or holds a
            zero byte, as TOML can spell it.
    """
    if "\0" in str(path):
        raise ValueError("no path holds a zero byte")
    try:
        return PROJECT_DIR / path.expanduser()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def root_name(path: Path) -> str:
    """The last part of `path`, NFC, without the characters that separate root and path."""
    return unicodedata.normalize("NFC", path.name or "root").replace(":", "_")


def short_hash(path: Path) -> str:
    """Six hex digits of the path's SHA-256."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:6]


def config_file() -> Path:
    """The TOML settings file: `RAG_CONFIG`, else the one in the home folder."""
    return Path(os.environ.get("RAG_CONFIG") or DEFAULT_CONFIG).expanduser()


def load_settings(changes: Mapping[str, Any] = MappingProxyType({})) -> Settings:
    """Reads and checks every option; `changes` come before file and environment.

    Raises:
        SettingsError: an option is unknown, malformed or contradicts another.
    """
    if os.environ.get("RAG_CONFIG") and not config_file().is_file():
        what = f"RAG_CONFIG points to {config_file()}, which is not a file."
        raise SettingsError(what, "Name a TOML file, or unset RAG_CONFIG.")
    try:
        known = {k: v for k, v in _from_file().items() if k in Settings.model_fields}
        settings = Settings.model_validate(known | _from_environment() | dict(changes))
    except ValidationError as error:
        raise complaint(error.errors()[0], _takes(), config_file()) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{config_file()} is not UTF-8.", "Save it as UTF-8.") from None
    except ValueError as error:  # tomllib.TOMLDecodeError
        what = f"{config_file()} is not valid TOML: {error}."
        raise SettingsError(what, 'A line looks like: corpus_dir = ["~/notes"]') from None
    check_roots(settings.roots)
    check_store(settings.store_dir, settings.roots)
    return settings


def _takes() -> dict[str, str]:
    """What each setting may be, as an error says it."""
    takes = {name: field.description or "" for name, field in Settings.model_fields.items()}
    takes["languages"] += f", of these: {', '.join(_known_languages())}"
    return takes


def _known_languages() -> list[str]:
    from local_rag.text.language import known_languages  # their stop words take a while

    return known_languages()


def _from_file() -> dict[str, Any]:
    try:
        # Editors on Windows put a mark before UTF-8, which TOML does not know.
        return tomllib.loads(config_file().read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        what = f"{config_file()} cannot be read ({error.strerror})."
        raise SettingsError(what, "Make it a readable file, or remove it.") from None


def _from_environment() -> dict[str, str]:
    """The options by name; Ollama's own variable counts where ours is not set."""
    names = {f"RAG_{name.upper()}": name for name in Settings.model_fields}
    found = {names[k]: value for k, value in os.environ.items() if k in names}
    host = os.environ.get("OLLAMA_HOST")
    return found if host is None else {"ollama_host": host} | found


def check_roots(roots: tuple[Root, ...]) -> None:
    """Refuses a folder named twice or inside another: its documents would have two identities.

    Raises:
        SettingsError: two of the roots overlap.
    """
    where = set_by("corpus_dir", config_file())
    paths = [root.path for root in roots]
    for path in paths:
        if paths.count(path) > 1:
            raise SettingsError(f"{where} names {path} more than once.", "Name it once.")
    for inner in paths:
        for outer in paths:
            if inner != outer and inner.is_relative_to(outer):
                what = f"{where} names {inner}, which is inside {outer}."
                raise SettingsError(what, "Name one of them.")


def check_store(store: Path, roots: tuple[Root, ...]) -> None:
    """Refuses a root that is the store, or among its snapshots: the index would index itself.

    Raises:
        SettingsError: one of the roots is.
    """
    place = Path(os.path.realpath(store))
    for path in (root.path for root in roots):
        if path == place or path.is_relative_to(place / "snapshots"):
            where = set_by("store_dir", config_file())
            what = (
                f"{where} is {store}, which {'is' if path == place else 'holds'} the corpus {path}."
            )
            raise SettingsError(what, "Give the store a folder of its own.")


def unknown_settings() -> list[str]:
    """A line for each key of the file and each RAG_ variable that means nothing here.

    They are ignored rather than refused: another version of this program may know them.
    """
    fields = list(Settings.model_fields)
    variables = [*(f"RAG_{name.upper()}" for name in fields), "RAG_CONFIG"]
    found = [f"Unknown setting {key!r} in {config_file()} ignored. {_near(key, fields)}"
             for key in _keys_of_file() if key not in fields]  # fmt: skip
    strangers = sorted(n for n in os.environ if n.startswith("RAG_") and n not in variables)
    return found + [f"Unknown variable {n} ignored. {_near(n, variables)}" for n in strangers]


def _keys_of_file() -> list[str]:
    try:
        return list(_from_file())
    except (SettingsError, ValueError):  # load_settings says what is wrong with the file
        return []


def _near(name: str, known: Sequence[str]) -> str:
    """What may have been meant by a name: "Model" and "RAG_MODEL" are near "model"."""
    written = name if name.startswith("RAG_") and known[0].startswith("RAG_") else _plain(name)
    near = difflib.get_close_matches(written, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."


def _plain(name: str) -> str:
    return name.lower().removeprefix("rag_")


def require_roots(settings: Settings) -> None:
    """Refuses settings that name no corpus folder.

    Raises:
        SettingsError: none is set.
    """
    if not settings.roots:
        what = "No documents are configured."
        remedy = f"Set corpus_dir in {config_file()}, or RAG_CORPUS_DIR. To try it first: make demo"
        raise SettingsError(what, remedy)


SHOWN_CHARS = 60  # characters shown of a value


def complaint(fault: Mapping[str, Any], takes: Mapping[str, str], config: Path) -> SettingsError:
    """The error for one of pydantic's findings; `takes` says what each setting may be."""
    name = str(fault["loc"][0])
    variable = variable_of(name)
    if variable:
        where, value = variable, os.environ[variable]
    else:
        where, value = f"{name} in {config}", fault["input"]
    said = repr(value) if len(repr(value)) <= SHOWN_CHARS else f"{repr(value)[:SHOWN_CHARS]}..."
    has = f"has the entry {said}" if len(fault["loc"]) > 1 and not variable else f"is {said}"
    return SettingsError(f"{where} {has}.", f"It takes {takes[name]}.")


def variable_of(name: str) -> str | None:
    """The environment variable that sets a setting, as it is written; None if none does."""
    names = {f"RAG_{name}".upper()} | ({name.upper()} if name == "ollama_host" else set())
    return next((key for key in sorted(os.environ, reverse=True) if key.upper() in names), None)


def set_by(name: str, config: Path | None = None) -> str:
    """Where a setting is set, to be named in an error: its variable, or its key in the file."""
    return variable_of(name) or f"{name} in {config or config_file()}"
