"""Passages as the answers of `search_corpus` and `fetch`, made safe and cut to their room.

Leaves out finding them (`search`, `fetching`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from local_rag import answers
from local_rag.catalog import FileRecord
from local_rag.display import one_line, safe_text, spelled_call
from local_rag.fetching import Fetched, Stretch
from local_rag.finding import shown
from local_rag.fitting import (
    ANSWER,
    NOTICE,
    TITLE,
    cost,
    prefix,
    ranked_room,
    shared_room,
    shorten,
    size,
    trail,
)
from local_rag.freshness import Freshness
from local_rag.live import OpenIndex
from local_rag.reading import place_of
from local_rag.search import Hit

ID = re.compile("[0-9a-f]{16}")  # as the catalogue makes them
LEAST = 150  # bytes of text without which a passage is not worth showing


def notices_of(lines: Sequence[str]) -> list[str]:
    """Notices, each as one line of limited length."""
    return [shorten(one_line(line), NOTICE) for line in lines]


def title_of(file: FileRecord) -> str:
    """A document's title, or its file's name."""
    return shorten(one_line(file.title or file.path.rpartition("/")[2]), TITLE)


def retired(file: FileRecord) -> dict[str, str | None]:
    """What a superseded document's entry says beside what others say."""
    if file.lifecycle != "superseded":
        return {}
    by = shorten(one_line(file.superseded_by), TITLE)
    return {"lifecycle": "superseded", "superseded_by": by or None}


def search_result(
    hits: Sequence[Hit], notices: Sequence[str], freshness: Freshness, room: int
) -> answers.SearchResult:
    """Hits in `room` bytes; what is too long is cut, and last hits that don't fit are left out."""
    shown_hits = [_hit(hit, freshness) for hit in hits]
    result = answers.SearchResult(hits=shown_hits, notices=notices_of(notices))
    texts = [hit.text for hit in shown_hits]
    while (left := _room_for_texts(result, shown_hits, room)) < LEAST * len(shown_hits):
        shown_hits.pop()
        result.hits = list(shown_hits)
        cut = f"Only {len(shown_hits)} of {len(hits)} hits fit the answer; narrow it by path."
        result.notices = [*notices_of(notices), cut]
    for hit, text, share in zip(
        shown_hits, texts, ranked_room([cost(t) for t in texts[: len(shown_hits)]], left),
        strict=False,
    ):  # fmt: skip
        _cut_hit(hit, text, share)
    return result


def _room_for_texts(result: answers.Result, items: Sequence[Any], room: int) -> int:
    """What is left of `room` when the texts of `items` are taken out."""
    texts = [item.text for item in items]
    for item in items:
        item.text = ""
    taken = max(size(result.lean()), size(result.markdown()))
    for item, text in zip(items, texts, strict=True):
        item.text = text
    return room - taken


def _cut_hit(hit: answers.SearchHit, text: str, room: int) -> None:
    kept = prefix(text, room - 60 if cost(text) > room else room)
    if kept != text:
        kept = kept[: kept.rfind("\n")].rstrip() if "\n" in kept else kept
        hit.cut, hit.end_line = True, hit.start_line + kept.count("\n")
    hit.text = kept


def _hit(hit: Hit, freshness: Freshness) -> answers.SearchHit:
    return answers.SearchHit(
        id=hit.id,
        root=hit.file.root,
        path=one_line(hit.file.path),
        title=title_of(hit.file),
        headings=trail([one_line(heading) for heading in hit.headings]),
        start_line=hit.first_line,
        end_line=hit.last_line,
        label=shorten(one_line(hit.label), TITLE) or None,
        score=round(hit.score, 3),
        cosine=None if hit.cosine is None else round(hit.cosine, 3),
        keyword_rank=hit.keyword_rank,
        weak=hit.weak,
        **retired(hit.file),
        stale=freshness.is_stale(hit.file) or None,
        text=safe_text(hit.text),
        cut=hit.cut or None,
    )


def fetch_result(
    index: OpenIndex, fetched: Fetched, notices: Sequence[str], freshness: Freshness
) -> answers.FetchResult:
    """What was fetched in the room of an answer, with the call that goes on where it is cut."""
    kept = list(fetched.stretches)
    notices = [*notices, *_missing(fetched)]
    texts = {s.file.number: index.catalog.text(s.file.number) for s in kept}
    while True:
        result = _documents(kept, fetched, texts, freshness)
        left_out = [id_ for s in fetched.stretches[len(kept) :] for id_ in s.ids]
        rest = [f"Not all fit. The rest: {spelled_call('fetch', ids=left_out)}"] if left_out else []
        result.notices = notices_of([*notices, *rest])
        parts = [part for document in result.documents for part in document.stretches]
        room = _room_for_texts(result, parts, ANSWER)
        if room >= LEAST * len(parts):
            break
        kept.pop()
    rooms = shared_room([cost(texts[s.file.number][s.start : s.end]) for s in kept], room)
    for part, stretch, share in zip(parts, kept, rooms, strict=True):
        _fill(part, stretch, texts[stretch.file.number], share)
    return result


def _missing(fetched: Fetched) -> list[str]:
    gone = [id_ for id_ in fetched.missing if ID.fullmatch(id_)]
    never = [shorten(one_line(id_), 40) for id_ in fetched.missing if not ID.fullmatch(id_)]
    notices = []
    if gone:
        what = f"No chunk has the id {', '.join(gone)}: that document changed since; search again."
        notices.append(what)
    if never:
        what = f"No id is {', '.join(map(repr, never))}. Ids are what search_corpus gives as id, "
        notices.append(f"{what}16 letters and digits; to read a document by its path use get_file.")
    return notices


def _documents(
    kept: Sequence[Stretch], fetched: Fetched, texts: dict[int, str], freshness: Freshness
) -> answers.FetchResult:
    documents: dict[int, answers.FetchedDocument] = {}
    for stretch in kept:
        file = stretch.file
        document = documents.setdefault(
            file.number,
            answers.FetchedDocument(
                root=file.root,
                path=one_line(file.path),
                title=title_of(file),
                **retired(file),
                stale=freshness.is_stale(file) or None,
                stretches=[],
            ),
        )
        document.stretches.append(_part(stretch, texts[file.number]))
    missing = [shorten(one_line(id_), 40) for id_ in fetched.missing] or None
    return answers.FetchResult(documents=list(documents.values()), missing=missing, notices=[])


def _part(stretch: Stretch, text: str) -> answers.Stretch:
    """A stretch without text, but with a call as long as the one that may be needed."""
    first, last = place_of(text, stretch.start).line, place_of(text, stretch.end - 1).line
    return answers.Stretch(
        ids=list(stretch.ids),
        headings=trail([one_line(heading) for heading in stretch.headings]),
        label=shorten(one_line(stretch.label), TITLE) or None,
        start_line=first,
        end_line=last,
        text="",
        next_call=_get_file(stretch, text, stretch.end - 1, last),
    )


def _get_file(stretch: Stretch, text: str, offset: int, last: int) -> str:
    place, column = place_of(text, offset), None
    if place.column > 1:
        column = place.column
    return spelled_call(
        "get_file",
        path=shown((stretch.file.root, stretch.file.path)),
        start_line=place.line,
        start_column=column,
        end_line=last,
    )


def _fill(part: answers.Stretch, stretch: Stretch, text: str, room: int) -> None:
    """Puts in what fits of the text: from the start, or from the chunk that was asked for."""
    begin, end = stretch.start, stretch.end
    if cost(text[begin:end]) > room and cost(text[begin : stretch.hit]) > room // 3:
        begin = stretch.hit
    ready = begin + len(prefix(text[begin:end], room))
    if ready < end:
        ready = text.rfind("\n", begin, ready) + 1 or ready
    part.text = safe_text(text[begin:ready])
    part.next_call = _get_file(stretch, text, ready, part.end_line) if ready < end else None
    part.start_line = place_of(text, begin).line
    part.end_line = place_of(text, max(begin, ready - 1)).line
