"""Every option, from the environment and one TOML file, validated once.

Relative paths resolve against the project's folder, never the working directory: MCP clients
launch the server from anywhere. Leaves out per-document options, which are front matter.

The two sources are read here rather than by pydantic-settings: to import that takes 0.1 s of CPU,
in every run of a scheduler that finds nothing to do and before every handshake.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
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

    corpus_dir: tuple[str, ...] = ("./sample-corpus",)
    store_dir: Path = Path("~/.local-rag-mcp/store")
    embedder: Literal["auto", "ollama", "builtin", "none"] = "auto"
    model: Annotated[str, Field(min_length=1)] = "embeddinggemma"
    ollama_host: str = "http://127.0.0.1:11434"
    builtin_model_dir: Path | None = None
    secrets: Secrets = "warn"
    languages: tuple[str, ...] = ()
    max_file_mb: Annotated[float, Field(gt=0, le=1024)] = 5.0

    @field_validator("corpus_dir", mode="before")
    @classmethod
    def _split_folders(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part for part in value.split(os.pathsep) if part.strip())
        return value

    @field_validator("corpus_dir")
    @classmethod
    def _at_least_one_folder(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("names no folder")
        return value

    @field_validator("languages", mode="before")
    @classmethod
    def _split_languages(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("languages")
    @classmethod
    def _known_languages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from local_rag.languages import known_languages  # their stop words take a while

        unknown = sorted(set(value) - set(known_languages())) if value else []
        if unknown:
            known = ", ".join(known_languages())
            raise ValueError(f"{unknown[0]!r} is none of {known}")
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
        """The corpus folders in order, each with a name of its own.

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
    """`path` with `~` expanded, relative to the project's folder."""
    return PROJECT_DIR / path.expanduser()


def root_name(path: Path) -> str:
    """The last part of `path`, NFC, without the characters that separate root and path."""
    return unicodedata.normalize("NFC", path.name or "root").replace(":", "_")


def short_hash(path: Path) -> str:
    """Six hex digits of the path's SHA-256."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:6]


def config_file() -> Path:
    """The TOML settings file: `RAG_CONFIG`, else the one in the home folder."""
    return Path(os.environ.get("RAG_CONFIG") or DEFAULT_CONFIG).expanduser()


def load_settings() -> Settings:
    """Reads and checks every option.

    Raises:
        SettingsError: an option is unknown, malformed or contradicts another.
    """
    if os.environ.get("RAG_CONFIG") and not config_file().is_file():
        raise SettingsError(f"RAG_CONFIG names {config_file()}, which is no file.", "Correct it.")
    try:
        settings = Settings.model_validate(_from_file() | _from_environment())
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(part) for part in first["loc"]) or "settings"
        where = f"the environment (RAG_{name.upper()}) or {config_file()}"
        raise SettingsError(
            f"Setting '{name}': {first['msg']}.", f"Correct it in {where}."
        ) from None
    except ValueError as error:  # tomllib.TOMLDecodeError, and bytes that are not UTF-8
        raise SettingsError(f"{config_file()} is not valid TOML: {error}.", "Correct it.") from None
    check_roots(settings.roots)
    return settings


def _from_file() -> dict[str, Any]:
    try:
        with config_file().open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        what = f"{config_file()} cannot be read ({error.strerror})."
        raise SettingsError(what, "Correct it.") from None


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
    for outer in roots:
        for inner in roots:
            if inner is not outer and inner.path.is_relative_to(outer.path):
                raise SettingsError(
                    f"RAG_CORPUS_DIR names {inner.path} inside {outer.path}.", "Keep one of them."
                )


def unknown_variables() -> list[str]:
    """Environment variables that start with RAG_ and mean nothing here, such as a misspelt one."""
    known = {f"RAG_{name.upper()}" for name in Settings.model_fields} | {"RAG_CONFIG"}
    return sorted(name for name in os.environ if name.startswith("RAG_") and name not in known)
