"""The keys that hide a document, as markup without front matter declares them. Pure.

Org has keywords and property drawers, AsciiDoc attributes, reStructuredText fields. Leaves out
front matter, which these files may have as well, and what a key means (`documents`).
"""

from __future__ import annotations

import re

from local_rag.formats import Syntax
from local_rag.front_matter import LEFT_OUT

_KEYS = r"(rag|lifecycle|superseded_by)"
KEYWORD = re.compile(rf"(?im)^[ \t]*#\+{_KEYS}:[ \t]*(\S.*)$")
FIELD = re.compile(rf"(?im)^:{_KEYS}:[ \t]*(\S.*)$")
DRAWER = re.compile(rf"(?im)^[ \t]*:{_KEYS}:[ \t]+(\S.*)$")
UNSET = re.compile(r"(?im)^:(?:!rag|rag!):[ \t]*$")
META = re.compile(rf"(?im)^[ \t]+:{_KEYS}:[ \t]*(\S.*)$")
HEAD = 100  # lines; further down a field is part of what the document is about


def declared_keys(text: str, syntax: Syntax) -> dict[str, str]:
    """The hiding keys that a text in this markup declares; of several `rag` a no counts."""
    head = "\n".join(text.split("\n", HEAD)[:HEAD])
    found: dict[str, str] = {}
    match syntax:
        case "org":
            drawer = re.split(r"(?m)^\*+[ \t]", head, maxsplit=1)[0]
            pairs = KEYWORD.findall(text) + DRAWER.findall(drawer)
        case "asciidoc":
            pairs = FIELD.findall(head) + [("rag", "false") for _ in UNSET.findall(head)]
        case "rst":
            directive = re.search(r"(?m)^\.\. meta::[ \t]*\n((?:[ \t]+.*\n?|[ \t]*\n)*)", head)
            pairs = FIELD.findall(head) + META.findall(directive[1] if directive else "")
        case _:
            return found
    for key, value in pairs:
        if found.get(key.lower(), "").lower() not in LEFT_OUT:
            found[key.lower()] = value.rstrip(" \t")
    return found
