"""What all answers have in common: notices, and document text that is quoted as such.

A field that has nothing to say is None and is left out of the structured answer (`lean`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from local_rag.index.catalog import FileRecord
from local_rag.text.sanitize import one_line
from local_rag.text.trim import json_size, shorten
from local_rag.tools.answer_size import NOTICE_BYTES, TITLE_BYTES

LEAST_TEXT = 150  # bytes of text without which a passage is not worth showing


class Result(BaseModel):
    """A tool's answer. Each of `notices` is one line about what limits it."""

    notices: list[str]

    def lean(self) -> dict[str, Any]:
        """The structured answer, without fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)

    def markdown(self) -> str:
        """The answer as readable text."""
        raise NotImplementedError

    def noticed(self) -> list[str]:
        """The notices as readable text."""
        return [f"Notice: {notice}" for notice in self.notices]


def quoted(text: str) -> str:
    """A document's text, each line marked as quoted."""
    return "\n".join(f"> {line}" for line in text.removesuffix("\n").split("\n"))


def notice_lines(lines: Sequence[str]) -> list[str]:
    """Notices, each one line of limited length."""
    return [shorten(one_line(line), NOTICE_BYTES) for line in lines]


def lifecycle_fields(file: FileRecord) -> dict[str, str | None]:
    """The extra fields of a superseded document's entry."""
    if file.lifecycle != "superseded":
        return {}
    by = shorten(one_line(file.superseded_by), TITLE_BYTES)
    return {"lifecycle": "superseded", "superseded_by": by or None}


def room_for_texts(result: Result, items: Sequence[Any], room: int) -> int:
    """The bytes of `room` that the result leaves for the texts of `items`."""
    texts = [item.text for item in items]
    for item in items:
        item.text = ""
    taken = max(json_size(result.lean()), json_size(result.markdown()))
    for item, text in zip(items, texts, strict=True):
        item.text = text
    return room - taken
