"""Which names are documents, and what reads them: the one table of formats.

A format whose bytes are its text has no `module`; any other names the module of this package
that turns its bytes into text. Leaves out the reading itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Syntax = Literal["markdown", "rst", "org", "asciidoc", "code", "table", "plain"]
"""How a text shows its structure. `table` is one row a line, the first of them the header."""


@dataclass(frozen=True)
class Format:
    """A kind of document.

    `front_matter` says whether its text may begin with some, `titled` whether its first heading
    is a title, `needs` which optional library reads it. `heavy` formats may be larger than the
    size limit by this factor: their weight is pictures, and the limit is meant for text.
    """

    name: str
    syntax: Syntax = "plain"
    front_matter: bool = False
    titled: bool = False
    module: str = ""
    needs: str = ""
    heavy: int = 1


MARKDOWN = Format("Markdown", "markdown", front_matter=True, titled=True)
# People write Markdown into .txt as well; what is none reads as paragraphs all the same.
TEXT = Format("text", "markdown", front_matter=True)
CODE = Format("source code", "code")
_TABLE: dict[Format, str] = {
    MARKDOWN: ".md .markdown .mdx .qmd .rmd .mkd .mdown",
    TEXT: ".txt .text",
    Format("reStructuredText", "rst", front_matter=True, titled=True): ".rst",
    Format("Org", "org", front_matter=True, titled=True): ".org",
    Format("AsciiDoc", "asciidoc", front_matter=True, titled=True): ".adoc .asciidoc",
    Format("LaTeX", "plain"): ".tex",
    Format("subtitles", "plain"): ".srt .vtt",
    Format("table", "table"): ".csv .tsv",
    Format("data", "code"): ".json .jsonl .json5 .yaml .yml .toml .ini .cfg .conf .properties .xml",
    CODE: ".py .pyi .js .mjs .cjs .jsx .ts .tsx .vue .svelte .css .scss .less .java .kt .kts"
    " .scala .groovy .gradle .go .rs .c .h .cc .cpp .cxx .hpp .hh .m .mm .cs .fs .vb .swift .rb"
    " .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hrl .hs .ml .mli .clj .cljs .lisp .el .scm"
    " .sh .bash .zsh .fish .ps1 .psm1 .bat .cmd .sql .graphql .proto .tf .hcl .nix .cmake .mk"
    " .vim .asm .s .f90 .pas .zig .nim .v .sol .jinja .j2",
    Format("HTML", "markdown", module="html"): ".html .htm .xhtml",
    Format("Jupyter notebook", "markdown", module="ipynb", heavy=10): ".ipynb",
    Format("PDF", "plain", module="pdf", needs="pypdf", heavy=10): ".pdf",
    Format("Word document", "markdown", module="docx", heavy=10): ".docx",
    Format("PowerPoint presentation", "markdown", module="pptx", heavy=10): ".pptx",
    Format("OpenDocument text", "markdown", module="odt", heavy=10): ".odt",
    Format("EPUB", "markdown", module="epub", heavy=10): ".epub",
    Format("e-mail", "plain", module="eml", heavy=10): ".eml",
}
FORMATS = {suffix: kind for kind, suffixes in _TABLE.items() for suffix in suffixes.split()}
HEAVY = {suffix: kind.heavy for suffix, kind in FORMATS.items() if kind.heavy > 1}
CODE_NAMES = dict.fromkeys(
    ("makefile", "dockerfile", "containerfile", "justfile", "rakefile", "gemfile", "procfile"), CODE
)
# Written by programs for programs; among a hundred notes one of them would fill every answer.
GENERATED_NAMES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml"})
GENERATED_SUFFIXES = (".min.js", ".min.css", ".map.json", ".bundle.js")


def format_of(path: str) -> Format | None:
    """The format of a file by its name; None where the name is no document's."""
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    if dot > 0:
        return FORMATS.get(name[dot:].lower())
    if name.lower() in CODE_NAMES:
        return CODE_NAMES[name.lower()]
    return TEXT if dot < 0 and name.isupper() else None  # README, LICENSE and the like


def is_generated(name: str) -> bool:
    """Whether a file of this name is made by a program for programs."""
    low = name.lower()
    return low in GENERATED_NAMES or low.endswith(GENERATED_SUFFIXES)
