"""Headings and the pieces kept whole, in Markdown and other markup, and the chunks they make."""

from __future__ import annotations

import re

import pytest

from local_rag.chunking.chunks import Chunk, chunk_document, halve
from local_rag.chunking.sections import sections_of
from local_rag.chunking.sizes import ChunkBudget
from local_rag.documents.document import Document, parse_document
from local_rag.documents.formats.registry import FORMATS, Syntax
from local_rag.documents.markup import blocks

BLANKS = " " * 60_000

BUDGET = ChunkBudget(target=40, small=10, whole=50, hard=120)


def words(text: str) -> list[int]:
    return [match.start() for match in re.finditer(r"\S+", text)]


def chunks_of(text: str, suffix: str = ".md") -> list[Chunk]:
    document = parse_document(text.encode(), FORMATS[suffix])
    found = chunk_document(document, BUDGET, words)
    assert all(document.text[c.start : c.end] == c.text for c in found)
    return found


def headings(text: str, syntax: Syntax = "markdown") -> list[tuple[int, str]]:
    return [(block.level, block.heading) for block in blocks(text, syntax) if block.level]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A\n## B ##\n", [(1, "A"), (2, "B")]),
        ("A\n=\n\nB\n-\n", [(1, "A"), (2, "B")]),
        ("#hashtag\n\n####### seven\n", []),
        ("    # indented code\n", []),
        ("```\n# fenced\n```\n# A\n", [(1, "A")]),
        ("~~~ sh\n# fenced\n```\n# still\n~~~\n# A\n", [(1, "A")]),
        ("# A\n\n```sh\n# never closed\n", [(1, "A")]),
        ("- item\n\n  # in a list\n\n# A\n", [(1, "A")]),
        ("> # quoted\n\n# A\n", [(1, "A")]),
        ("<!--\n# in a comment\n-->\n\n# A\n", [(1, "A")]),
        ("# [Link](http://x) and `code` {#id}\n", [(1, "Link and code")]),
        ("#\n\n# A\r\n", [(1, ""), (1, "A")]),
        ("prose\r---\rprose\n", []),
        ("{{< note >}}\n# A\n{{< /note >}}\n", [(1, "A")]),
        ("# [[Wiki|link]]\n", [(1, "[[Wiki|link]]")]),
    ],
)
def test_markdown_headings(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


@pytest.mark.parametrize(
    ("syntax", "text", "found"),
    [
        ("rst", "Top\n===\n\nSub\n---\n\nSub 2\n-----\n", [(1, "Top"), (2, "Sub"), (2, "Sub 2")]),
        ("rst", "***\nTop\n***\n\nSub\n***\n", [(1, "Top"), (2, "Sub")]),
        ("rst", "Long title\n===\n\n    indented\n--------\n", []),
        ("rst", "=====  =====\nA      B\n=====  =====\n1      2\n=====  =====\n", []),
        ("rst", "para\n\n----\n\npara\n", []),
        ("org", "* A\n** TODO B :tag:\n#+BEGIN_SRC sh\n* not\n#+END_SRC\n*bold*\n",
         [(1, "A"), (2, "B")]),
        ("asciidoc", "= A\n\n----\n== not\n----\n\n== B\n=== C ===\n",
         [(1, "A"), (2, "B"), (3, "C")]),
        ("org", f"* A{BLANKS}x\n* B{BLANKS}:a:b:{BLANKS}\n* :a:\n",
         [(1, "A x"), (1, "B"), (1, ":a:")]),
        ("asciidoc", f"= A{BLANKS}x\n\n= B{BLANKS}={BLANKS}\n\n== ==\n",
         [(1, "A x"), (1, "B"), (2, "==")]),
        ("code", "# not\n\ndef f():\n    pass\n", []),
        ("plain", "# not\n", []),
        ("table", "# not,b\n1,2\n", []),
    ],
)  # fmt: skip
def test_headings_of_other_markup(syntax: Syntax, text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text, syntax) == found


def test_ten_thousand_headings_are_all_found() -> None:
    text = "".join(f"# Heading {n}\n\ntext {n}\n\n" for n in range(10_000))
    assert len(headings(text)) == 10_000


def sentence(count: int, word: str = "word") -> str:
    return " ".join([word] * (count - 1)) + " end.\n"


def test_a_list_and_a_table_that_fit_are_kept_whole() -> None:
    items = "".join(f"- item {n}\n" for n in range(8))
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"
    text = f"# H\n\n{sentence(25)}\n{items}\n{sentence(25)}\n{table}\n"
    found = [chunk.text for chunk in chunks_of(text)]
    assert any(items.strip() in piece for piece in found)
    assert any(table.strip() in piece for piece in found)
    assert all(chunk.context == "" for chunk in chunks_of(text))


def test_a_table_split_by_rows_repeats_its_header_in_what_is_indexed() -> None:
    header = "| name | value |\n| --- | --- |"
    rows = [f"| key{n} | v{n} |" for n in range(40)]
    text = "# H\n\n" + "\n".join([header, *rows]) + "\n\n" + sentence(20)
    first, *others = chunks_of(text)
    assert first.context == ""
    assert first.indexed == first.text
    inside = [chunk for chunk in others if chunk.text.startswith("| key")]
    assert len(inside) >= 3
    assert all(c.context == header and c.indexed == f"{header}\n{c.text}" for c in inside)
    assert others[-1].text.endswith("end.")
    assert [line for chunk in (first, *inside) for line in chunk.text.split("\n")
            if line.startswith("| key")] == rows  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("|a|b|\n|-|-|\n|1|2|\n", ["|a|b|\n|-|-|\n"]),
        ("a | b\n:-- | --:\n1 | 2\n", ["a | b\n:-- | --:\n"]),
        ("prose\n|a|\n|---|\n|1|\n", ["|a|\n|---|\n"]),
        ("|a|b|\r\n|-|-|\r\n|1|2|\r\n", ["|a|b|\r\n|-|-|\r\n"]),
        ("prose with | bar\nand more\n", []),
        ("title\n---\n\na | b\n", []),
        ("```\n|a|\n|-|\n```\n", []),
    ],
)
def test_tables_are_found_with_their_header(text: str, tables: list[str]) -> None:
    found = [block for block in blocks(text) if block.head_end]
    assert [text[block.start : block.head_end] for block in found] == tables


def test_a_csv_file_repeats_its_first_line_in_what_is_indexed() -> None:
    text = "name,remark\n" + "".join(f"n{n},three small words\n" for n in range(60))
    first, second, *_ = chunks_of(text, ".csv")
    assert first.context == ""
    assert second.context == "name,remark"
    assert second.indexed.startswith("name,remark\nn")
    assert (first.first_line, second.first_line) == (1, first.last_line + 1)


def test_a_header_too_long_to_repeat_is_not() -> None:
    text = ",".join(["column"] * 100) + "\n" + "".join(f"{n} a b c\n" for n in range(60))
    assert {chunk.context for chunk in chunks_of(text, ".csv")} == {""}


def test_an_image_in_the_text_is_not_indexed_and_takes_no_room() -> None:
    image = "data:image/png;base64," + "iVBOR/w0+" * 4_000
    text = f"# H\n\nbefore ![cat]({image}) after\n"
    (chunk,) = chunks_of(text)
    assert chunk.text == text.strip()
    assert chunk.indexed == "# H\n\nbefore ![cat]() after"
    (chunk,) = chunks_of(f"![cat][1]\n\n[1]: {image}\n\nNext paragraph.\n")
    assert chunk.indexed == "![cat][1]\n\n[1]: \n\nNext paragraph."


@pytest.mark.parametrize(
    "piece",
    [
        "[[Page|alias]] and ![[embed.png]]", "> [!note] Title\n> callout", "<!-- comment -->",
        "Fact[^1].\n\n[^1]: source", "{{< figure src=x >}}", "{% include note.html %}",
        "$$\nx^2\n$$", "==marked== and %%hidden%%",
    ],
)  # fmt: skip
def test_dialects_are_left_as_text(piece: str) -> None:
    (chunk,) = chunks_of(f"# H\n\n{piece}\n")
    assert chunk.text == f"# H\n\n{piece}"


def test_code_is_cut_between_functions() -> None:
    text = "\n\n".join(
        f"def f{n}():\n    # step\n\n    return {' + '.join(['x'] * 8)}\n" for n in range(9)
    )
    assert all(chunk.text.startswith("def f") for chunk in chunks_of(text, ".py"))
    assert {chunk.headings for chunk in chunks_of(text, ".py")} == {()}


def paged(*pages: str) -> Document:
    text, starts = "", []
    for number, page in enumerate(pages, 1):
        starts.append((len(text), f"page {number}"))
        text += page
    return Document(text, syntax="plain", pages=tuple(starts))


def test_chunks_do_not_cross_the_border_of_pages_that_are_big_enough() -> None:
    document = paged(sentence(30, "a"), sentence(90, "b"), sentence(30, "c"))
    found = chunk_document(document, BUDGET, words)
    assert [chunk.label for chunk in found] == ["page 1", "page 2", "page 2", "page 2", "page 3"]
    assert all(len(set(chunk.text.split()) - {"end."}) == 1 for chunk in found)


def test_small_pages_share_a_chunk_whose_label_starts_at_the_first() -> None:
    document = paged(*(sentence(5) for _ in range(3)), sentence(60), sentence(4))
    found = chunk_document(document, BUDGET, words)
    assert [chunk.label for chunk in found] == ["page 1-3", "page 4", "page 4", "page 5"]


def test_a_document_of_one_page_or_none_is_one_chunk_where_it_fits() -> None:
    assert [c.label for c in chunk_document(paged(sentence(45)), BUDGET, words)] == ["page 1"]
    assert [c.label for c in chunk_document(Document(sentence(45)), BUDGET, words)] == [""]


def test_halves_of_a_chunk_keep_its_label_and_context() -> None:
    chunk = Chunk("one two", 0, 7, 1, 1, ("H",), "page 1", "a,b")
    assert halve(chunk, "one two") == [
        Chunk("one", 0, 3, 1, 1, ("H",), "page 1", "a,b"),
        Chunk("two", 4, 7, 1, 1, ("H",), "page 1", "a,b"),
    ]


@pytest.mark.parametrize(
    "start",
    ["[", "[a](", "![", "{#", "{.", "<", "`<", "[a]"],
)
def test_a_heading_of_100_kb_that_only_starts_markup_is_read_once(start: str) -> None:
    (heading,) = headings("# " + start * (100_000 // len(start)))
    assert heading == (1, (start * 200).replace("`", "")[:200])


@pytest.mark.parametrize(
    "row", [f"{BLANKS}|", f"{BLANKS}x", f":-{BLANKS}x", f"|-|{BLANKS}x", f"|{BLANKS}|{BLANKS}|"]
)
def test_a_row_of_blanks_makes_no_table_and_is_read_once(row: str) -> None:
    text = f"a|b\n{row}\n"
    assert [(b.start, b.end, b.head_end) for b in blocks(text)] == [(0, len(text), 0)]


@pytest.mark.parametrize("marks", [".", "!?", "…", "。"])
def test_a_line_of_100_kb_of_full_stops_is_cut_into_chunks_and_read_once(marks: str) -> None:
    text = "x" + marks * (100_000 // len(marks)) + "y"
    document = Document(text)
    found = chunk_document(document, BUDGET, lambda whole: range(len(whole)))
    assert "".join(chunk.text for chunk in found) == text
    assert max(len(chunk.text) for chunk in found) <= BUDGET.target + BUDGET.small


def test_the_blocks_of_many_pages_are_looked_at_once() -> None:
    text = "a\n\n" * 20_000
    pages = tuple((at, f"page {at // 3 + 1}") for at in range(0, len(text), 3))
    sections, tables = sections_of(Document(text, pages=pages))
    assert [(s.start, s.end, s.edges) for s in sections] == [
        (at, at + 3, ()) for at in range(0, len(text), 3)
    ]
    assert tables == []
