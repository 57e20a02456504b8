"""Where settings and store are by default, and which embedders may be named.

Apart from `settings`, whose import of pydantic is too slow for a server's first answers.
"""

from __future__ import annotations

from typing import Literal

DEFAULT_CONFIG = "~/.local-rag-mcp/config.toml"
DEFAULT_STORE = "~/.local-rag-mcp/store"
EmbedderName = Literal["auto", "ollama", "builtin", "none"]
