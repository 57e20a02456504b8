"""Which names are documents, and what reads them: the one table of formats.

A format whose bytes are its text has no `module`; any other names the module of this package
that turns its bytes into text. Leaves out the reading itself.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from local_rag.structure import Syntax


@dataclass(frozen=True)
class Format:
    """A kind of document. `front_matter` says whether its text may begin with some."""

    name: str
    syntax: Syntax = "plain"
    front_matter: bool = False
    module: str = ""


_MARKDOWN = Format("Markdown", "markdown", front_matter=True)
# People write Markdown into .txt as well; what is none reads as paragraphs all the same.
_TEXT = Format("text", "markdown", front_matter=True)
_TABLE: dict[Format, str] = {
    _MARKDOWN: ".md .markdown .mdx .qmd .rmd",
    _TEXT: ".txt .text",
    Format("reStructuredText", "rst", front_matter=True): ".rst",
    Format("Org", "org", front_matter=True): ".org",
    Format("AsciiDoc", "asciidoc", front_matter=True): ".adoc .asciidoc",
}
FORMATS = {suffix: kind for kind, suffixes in _TABLE.items() for suffix in suffixes.split()}


def format_of(path: str) -> Format | None:
    """The format of a file by its name; None where the name is no document's."""
    name = path.rpartition("/")[2]
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a name, not a path
    if not suffix and name.isupper():  # README, LICENSE and the like
        return _TEXT
    return FORMATS.get(suffix)
