"""Every setting, from the environment and one TOML file, read and validated once.

Relative paths resolve against the project's folder, never the working directory: MCP clients
launch the server from anywhere. Options of a single document are front matter.

Both sources are read without pydantic-settings, whose import costs 0.1 s of CPU: every scheduled
run that finds nothing to do would pay for it.
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

from local_rag.defaults import DEFAULT_CONFIG, DEFAULT_STORE, EmbedderName
from local_rag.errors import SettingsError

Secrets = Literal["warn", "skip"]
PROJECT_DIR = Path(__file__).resolve().parent.parent
SHOWN_CHARS = 60  # characters of a value that an error quotes


@dataclass(frozen=True)
class Root:
    """One corpus folder: the `name` hits carry, and its resolved `path`."""

    name: str
    path: Path


class Settings(BaseModel):
    """The settings of one run. Environment variables win over the TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    # Each description completes "It takes ..." in the error about an invalid value.
    corpus_dir: Annotated[
        tuple[str, ...],
        Field(description=f"folders, joined with '{os.pathsep}' or, in the file, as a list"),
    ] = ()
    store_dir: Annotated[Path, Field(description="a folder")] = Path(DEFAULT_STORE)
    embedder: Annotated[
        EmbedderName,
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
        """The corpus folders in order, each with its own name; empty if none is set.

        A folder's name is the last part of its path. Folders with the same name get a short hash
        of their path appended, so their order in the setting does not matter.
        """
        paths = [Path(os.path.realpath(resolve_path(Path(folder)))) for folder in self.corpus_dir]
        names = Counter(root_name(path) for path in paths)
        return tuple(
            Root(root_name(p) + ("" if names[root_name(p)] == 1 else f"~{short_hash(p)}"), p)
            for p in paths
        )


@dataclass(frozen=True)
class LoadedSettings:
    """Settings, with a warning for each key or variable that this version does not know.

    Those are ignored rather than refused, because another version may share the settings.
    """

    settings: Settings
    warnings: tuple[str, ...]


def resolve_path(path: Path) -> Path:
    """`path` with `~` expanded, relative to the project's folder.

    Raises:
        ValueError: it starts with the home folder of an unknown user, or contains a zero byte,
            which TOML can express.
    """
    if "\0" in str(path):
        raise ValueError("a path cannot contain a zero byte")
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
    """The settings alone, for callers that show no warnings; see `read_settings`."""
    return read_settings(changes).settings


def read_settings(changes: Mapping[str, Any] = MappingProxyType({})) -> LoadedSettings:
    """Reads and validates every setting; `changes` override file and environment.

    Raises:
        SettingsError: a value is invalid or contradicts another, or the file cannot be read.
    """
    if os.environ.get("RAG_CONFIG") and not config_file().is_file():
        what = f"RAG_CONFIG points to {config_file()}, which is not a file."
        raise SettingsError(what, "Set it to a TOML file, or unset it.")
    in_file = _from_file()
    known = {key: value for key, value in in_file.items() if key in Settings.model_fields}
    try:
        settings = Settings.model_validate(known | _from_environment() | dict(changes))
    except ValidationError as error:
        raise _complaint(error.errors()[0]) from None
    _check_roots(settings.roots)
    _check_store(settings.store_dir, settings.roots)
    return LoadedSettings(settings, (*_unknown_keys(in_file), *_unknown_variables()))


def require_roots(settings: Settings) -> None:
    """Refuses settings without a corpus folder.

    Raises:
        SettingsError: none is set.
    """
    if not settings.roots:
        what = "No documents are configured."
        remedy = f"Set corpus_dir in {config_file()}, or RAG_CORPUS_DIR. To try it first: make demo"
        raise SettingsError(what, remedy)


def set_by(name: str) -> str:
    """Where a setting is set, as an error names it: its variable, or its key in the file."""
    return variable_of(name) or f"{name} in {config_file()}"


def variable_of(name: str) -> str | None:
    """The environment variable that sets a setting; None if none does.

    Upper case only, as it is read: `rag_corpus_dir` sets nothing, so no error may blame it.
    """
    names = [f"RAG_{name.upper()}", *(["OLLAMA_HOST"] if name == "ollama_host" else [])]
    return next((key for key in names if key in os.environ), None)


def _from_file() -> dict[str, Any]:
    try:
        # Editors on Windows put a byte order mark before UTF-8, which TOML does not allow.
        return tomllib.loads(config_file().read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        what = f"{config_file()} cannot be read ({error.strerror})."
        raise SettingsError(what, "Make it a readable file, or remove it.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{config_file()} is not UTF-8.", "Save it as UTF-8.") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        what = f"{config_file()} is not valid TOML: {error}."
        raise SettingsError(what, 'A line looks like: corpus_dir = ["~/notes"]') from None


def _from_environment() -> dict[str, str]:
    """The settings by name; Ollama's own variable applies where ours is not set."""
    names = {f"RAG_{name.upper()}": name for name in Settings.model_fields}
    found = {names[k]: value for k, value in os.environ.items() if k in names}
    host = os.environ.get("OLLAMA_HOST")
    return found if host is None else {"ollama_host": host} | found


def _complaint(fault: Mapping[str, Any]) -> SettingsError:
    """The error for one of pydantic's findings: what sets the value, and what it takes."""
    name = str(fault["loc"][0])
    variable = variable_of(name)
    value = os.environ[variable] if variable else fault["input"]
    said = repr(value) if len(repr(value)) <= SHOWN_CHARS else f"{repr(value)[:SHOWN_CHARS]}..."
    is_entry = len(fault["loc"]) > 1 and not variable  # one item of a list in the file
    what = f"{set_by(name)} {'contains' if is_entry else 'is'} {said}."
    return SettingsError(what, f"It takes {_takes(name)}.")


def _takes(name: str) -> str:
    """What a setting may be."""
    takes = Settings.model_fields[name].description or ""
    return f"{takes}, of these: {', '.join(_known_languages())}" if name == "languages" else takes


def _known_languages() -> list[str]:
    from local_rag.text.language import known_languages  # loading their stop words takes a while

    return known_languages()


def _check_roots(roots: tuple[Root, ...]) -> None:
    """Refuses a folder listed twice or inside another: its documents would have two identities.

    Raises:
        SettingsError: two of the roots overlap.
    """
    where = set_by("corpus_dir")
    paths = [root.path for root in roots]
    for path in paths:
        if paths.count(path) > 1:
            raise SettingsError(f"{where} lists {path} more than once.", "List it once.")
    for inner in paths:
        for outer in paths:
            if inner != outer and inner.is_relative_to(outer):
                what = f"{where} lists {inner}, which is inside {outer}."
                raise SettingsError(what, "List only one of them.")


def _check_store(store: Path, roots: tuple[Root, ...]) -> None:
    """Refuses a root that is the store or lies among its snapshots: the index would index itself.

    Raises:
        SettingsError: one of the roots does.
    """
    place = Path(os.path.realpath(store))
    for path in (root.path for root in roots):
        if path == place or path.is_relative_to(place / "snapshots"):
            relation = "is" if path == place else "contains"
            what = f"{set_by('store_dir')} is {store}, which {relation} the corpus folder {path}."
            raise SettingsError(what, "Give the store a folder of its own.")


def _unknown_keys(in_file: Mapping[str, Any]) -> list[str]:
    """A warning for each key of the file that is no setting of this version."""
    fields = list(Settings.model_fields)
    return [
        f"Unknown setting {key!r} in {config_file()} ignored. "
        + _suggestion(key.lower().removeprefix("rag_"), fields)
        for key in in_file
        if key not in fields
    ]


def _unknown_variables() -> list[str]:
    """A warning for each RAG_ variable that is no setting of this version."""
    known = [*(f"RAG_{name.upper()}" for name in Settings.model_fields), "RAG_CONFIG"]
    unknown = sorted(key for key in os.environ if key.startswith("RAG_") and key not in known)
    return [f"Unknown variable {key} ignored. {_suggestion(key, known)}" for key in unknown]


def _suggestion(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
