"""Bytes to documents: encodings and front matter as people really have them."""

from __future__ import annotations

import codecs
from dataclasses import replace
from typing import Any

import pytest

from local_rag.documents.document import (
    LONGEST_ALIAS,
    LONGEST_LABEL,
    LONGEST_TAG,
    LONGEST_TITLE,
    Document,
    document_from_extract,
    label_at,
    parse_document,
)
from local_rag.documents.formats.extract import Extract
from local_rag.documents.formats.registry import FORMATS
from local_rag.documents.markup import LONGEST_HEADING
from local_rag.documents.metadata import CUT_MARK
from local_rag.text.encoding import NotText, decode


def parsed(front: str, body: str = "Body.\n") -> Document:
    return parse_document(f"---\n{front}---\n{body}".encode())


def expected(front: str, metadata: dict[str, Any], **fields: Any) -> Document:
    text = f"---\n{front}---\nBody.\n"
    start = text.rindex("\nBody") if metadata else 0
    return replace(Document(text, start, metadata=metadata), **fields)


@pytest.mark.parametrize(
    ("front", "metadata", "fields"),
    [
        ("title: Plan\n", {"title": "Plan"}, {"title": "Plan"}),
        ("title: 2024\n", {"title": 2024}, {"title": "2024"}),
        ("Title: Plan\nTags: [a]\n", {"Title": "Plan", "Tags": ["a"]},
         {"title": "Plan", "tags": ("a",)}),
        ("title: ' a \n\n  b'\n", {"title": " a\nb"}, {"title": "a b"}),
        ("title:\n", {"title": None}, {}),
        ("title: [a, b]\n", {"title": ["a", "b"]}, {}),
        ("tags: work\n", {"tags": "work"}, {"tags": ("work",)}),
        ("tags: work play\n", {"tags": "work play"}, {"tags": ("work", "play")}),
        ("tags: big work, play\n", {"tags": "big work, play"}, {"tags": ("big work", "play")}),
        ("tags: ['#a', b, a, 7]\n", {"tags": ["#a", "b", "a", 7]}, {"tags": ("a", "b", "7")}),
        ("tags:\n", {"tags": None}, {}),
        ("tags: [null]\n", {"tags": [None]}, {}),
        ("tags: [[a], {b: c}, d]\n", {"tags": [["a"], {"b": "c"}, "d"]}, {"tags": ("d",)}),
        ("date: 2024-02-29\n", {"date": "2024-02-29"}, {"dated": "2024-02-29T00:00:00"}),
        ("date: 2024-02-29\nupdated: 2024-03-01 10:00:00\n",
         {"date": "2024-02-29", "updated": "2024-03-01T10:00:00"},
         {"dated": "2024-03-01T10:00:00"}),
        ("date: next week\n", {"date": "next week"}, {}),
        ("a: 1\n# a: 0\na: 2\n", {"a": 2},
         {"warnings": ("line 4 repeats the key 'a': the last value wins",)}),
        ("Title: One\ntext: |\n  title: no\ntitle: Two\n",
         {"Title": "One", "text": "title: no\n", "title": "Two"},
         {"title": "Two", "warnings": ("line 5 repeats the key 'title': the last value wins",)}),
        ("rag: no\nrag: yes\n", {"rag": False},
         {"excluded": True, "warnings": ("line 3 repeats the key 'rag': false wins",)}),
        ("1: a\nrag: no\nrag: yes\n", {"1": "a", "rag": False},
         {"excluded": True, "warnings": ("line 4 repeats the key 'rag': false wins",)}),
        ("rag: yes\nrag: yes\n", {"rag": True},
         {"warnings": ("line 3 repeats the key 'rag': false wins",)}),
        ("aliases: [Plan B, 7, Plan B, null]\n", {"aliases": ["Plan B", 7, "Plan B", None]},
         {"aliases": ("Plan B", "7")}),
        ("aliases: Plan B, Way out\n", {"aliases": "Plan B, Way out"},
         {"aliases": ("Plan B", "Way out")}),
        ("alias: Plan B\n", {"alias": "Plan B"}, {"aliases": ("Plan B",)}),
        ("content: x\nhandler: y\nmetadata: z\n",
         {"content": "x", "handler": "y", "metadata": "z"}, {}),
        ("n: .nan\ni: -.inf\nb: 99999999999999999999\n",
         {"n": "nan", "i": "-inf", "b": "99999999999999999999"}, {}),
        ("1: a\nnull: b\n2024-01-01: c\n", {"1": "a", "NoneType": "b", "2024-01-01": "c"}, {}),
        ("x: !!binary aGk=\n", {"x": "b'hi'"}, {}),
        ("lifecycle: superseded\nsuperseded_by: b.md\n",
         {"lifecycle": "superseded", "superseded_by": "b.md"},
         {"lifecycle": "superseded", "superseded_by": "b.md"}),
        ("lifecycle: ' SUPERSEDED '\n", {"lifecycle": " SUPERSEDED "},
         {"lifecycle": "superseded"}),
        ("lifecycle: retired\n", {"lifecycle": "retired"}, {"warnings": (
            "lifecycle 'retired' is unknown (use active or superseded): treated as active",)}),
        ("superseded_by: b.md\n", {"superseded_by": "b.md"}, {
            "superseded_by": "b.md", "warnings": (
                "superseded_by is set without lifecycle: superseded; treated as active",)}),
        ("rag: false\n", {"rag": False}, {"excluded": True}),
        ("rag: 'No'\n", {"rag": "No"}, {"excluded": True}),
        ("RAG: off\n", {"RAG": False}, {"excluded": True}),
        ("rag: true\n", {"rag": True}, {}),
        ("rag_chunk: headings\n", {"rag_chunk": "headings"}, {"chunking": "headings"}),
        ("rag_chunk: whole\n", {"rag_chunk": "whole"}, {"chunking": "whole"}),
        ("rag_chunk: big\n", {"rag_chunk": "big"}, {"warnings": (
            "rag_chunk 'big' is unknown (use headings or whole): treated as auto",)}),
        ("", {}, {"body_start": 7}),
    ],
)  # fmt: skip
def test_front_matter_is_understood(
    front: str, metadata: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert parsed(front) == expected(front, metadata, **fields)


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("+++\ntitle = 'T'\n+++\nBody\n", "T", "\nBody\n"),
        ('{\n"title": "T"\n}\nBody\n', "T", "\nBody\n"),
        ("---\ntitle: T\n...\nBody\n", "T", "\nBody\n"),
        ("\n\n---\ntitle: T\n---\nBody\n", "T", "\nBody\n"),
        ("---\r\ntitle: T\r\n---\r\nBody\r\n", "T", "\nBody\r\n"),
        ("-----\ntitle: T\n-----\nBody\n", "T", "\nBody\n"),
        ("---\ntitle: T\n---", "T", ""),
        ("# H\n\nBody\n", "H", "# H\n\nBody\n"),
        ("---\ntitle: T\n---\n# H\n", "T", "\n# H\n"),
        ("---\n# A comment\n---\n# H\n", "H", "\n# H\n"),
    ],
)
def test_front_matter_is_found_in_every_dialect(text: str, title: str, body: str) -> None:
    document = parse_document(text.encode())
    assert (document.title, document.text[document.body_start :]) == (title, body)
    assert document.text == text
    assert document.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust a rule, then prose.\n",
        "---\nJust a rule, then prose.\n---\nand another\n",
        "---\n\nPlease note that this sentence has a colon: here.\n\n---\n",
        "---\n- a\n- b\n---\n",
        "{ not json\n",
        '}\n"title": "T"\n}\n',
        '{\n"title": "T"\n{\n',
        "+++\n",
        "---",
        "",
    ],
)
def test_a_rule_and_then_prose_is_no_front_matter(text: str) -> None:
    assert parse_document(text.encode()) == Document(text)


@pytest.mark.parametrize(
    ("front", "warning"),
    [
        ("title: a: b\n", "(mapping values are not allowed in this context)"),
        ("date: 2024-02-30\n", "(day is out of range for month)"),
        ("x: @y\n", "(while scanning for the next token)"),
        ("title: {{ title }}\n", "(while constructing a mapping)"),
        ("x: " + "[" * 60 + "\n", "(nested too deeply)"),
        ("x: " + "[a, " * 10_000 + "\n", "(nested too deeply)"),
        ("x: " + "{a: " * 10_000 + "\n", "(nested too deeply)"),
        (
            "x: " + "9" * 5_000 + "\n",
            "(Exceeds the limit (4300 digits) for integer string "
            "conversion: value has 5000 digits; use sys.set_int_max_str_digits() to increase the "
            "limit)",
        ),
    ],
)
def test_front_matter_that_does_not_parse_is_text_with_a_warning(front: str, warning: str) -> None:
    text = f"---\n{front}---\nBody.\n"
    problem = f"front matter does not parse {warning}: treated as text"
    assert parsed(front) == Document(text, warnings=(problem,))


def test_toml_with_a_key_of_too_many_parts_is_text_with_a_warning() -> None:
    text = f"+++\n{'a.' * 20_000}b = 1\n+++\nBody.\n"
    problem = "front matter does not parse (nested too deeply): treated as text"
    assert parse_document(text.encode()) == Document(text, warnings=(problem,))


def test_a_number_too_large_to_be_written_in_digits_is_kept_by_its_beginning() -> None:
    assert parsed(f"x: 0x{'f' * 5_000}\n").metadata == {"x": f"0x{'f' * 38}"}
    assert parsed(f"x: {2**64}\n").metadata == {"x": str(2**64)}


@pytest.mark.parametrize("broken", ["x: a: b\n", "d: 2024-02-30\n", "y: [\n", "{{ z }}\n"])
def test_broken_front_matter_still_hides_what_its_owner_retired(broken: str) -> None:
    for hide in ("rag: false\n", "rag: 'no'  # draft\n", "RAG: False\n"):
        assert parsed(broken + hide).excluded
    retired = parsed(f"lifecycle: Superseded\nsuperseded_by: b.md\n{broken}")
    assert (retired.lifecycle, retired.superseded_by, retired.body_start) == (
        "superseded", "b.md", 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("---\nrag: false\n# Never closed\n", True),
        ("---\ntitle: x\nrag: false\n\nNever closed\n", True),
        ("---\n\nrag: false\n", False),
        ("+++\nrag = false\nnever closed\n", True),
        ('{\n"rag": false,\n"x": oops\n}\n', True),
        ("+++\nrag = false\nx = oops\n+++\n", True),
        ("---\nrag: false\n" + "x: y\n" * 20_000 + "---\n", True),
        ("no front matter\nrag: false\n", False),
    ],
)
def test_front_matter_that_is_unclosed_or_too_long_still_hides(text: str, excluded: bool) -> None:
    document = parse_document(text.encode())
    assert document.excluded == excluded
    assert bool(document.warnings) == excluded


@pytest.mark.parametrize("pair", ['"rag": false, "rag": true', '"RAG": "no", "rag": true'])
def test_of_several_rag_keys_in_json_a_false_one_wins(pair: str) -> None:
    assert parse_document(f"{{\n{pair}\n}}\nText\n".encode()).excluded


def test_an_alias_bomb_is_cut_to_its_first_values() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for last, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]")
    document = parsed("\n".join(lines) + "\n")
    assert document.metadata["a"] == ["x"] * 9
    assert len(str(document.metadata)) < 10_000
    assert document.warnings == (CUT_MARK,)


@pytest.mark.parametrize(
    "above",
    [
        f"tags: [{', '.join(f't{n}' for n in range(600))}]\n",
        "".join(f"k{n}: {n}\n" for n in range(600)),
        "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c]\n",
    ],
)
def test_no_number_of_values_above_it_publishes_what_is_left_out_or_retired(above: str) -> None:
    document = parsed(above + "Lifecycle: superseded\nsuperseded_by: b.md\nrag: false\n")
    assert (document.excluded, document.lifecycle, document.superseded_by) == (
        True, "superseded", "b.md",
    )  # fmt: skip
    assert document.warnings == (CUT_MARK,)


def test_values_that_are_cut_cost_no_single_one_below_them() -> None:
    document = parsed(f"tags: [{', '.join(['t'] * 600)}]\ntitle: Kept\ndate: 2024-05-06\n")
    assert (document.title, document.dated) == ("Kept", "2024-05-06T00:00:00")


@pytest.mark.parametrize(
    ("front", "warnings"),
    [
        ("a: [[[[x]]]]\n", ()),
        ("a: [[[[[x]]]]]\n", (CUT_MARK,)),
        (f"a: {'y' * 1_000}\n", ()),
        (f"a: {'y' * 1_001}\n", (CUT_MARK,)),
        (f"a: [{', '.join(['x'] * 499)}]\n", ()),
        (f"a: [{', '.join(['x'] * 500)}]\n", (CUT_MARK,)),
    ],
    ids=["depth", "too deep", "length", "too long", "number", "too many"],
)
def test_values_that_are_cut_are_one_warning(front: str, warnings: tuple[str, ...]) -> None:
    assert parsed(front).warnings == warnings


BLANKS = " " * 60_000


@pytest.mark.parametrize("opening", ["\t[\n", "", "k: 1\n" * 20_000])
def test_endless_blanks_in_front_matter_that_cannot_be_read_take_no_time(opening: str) -> None:
    text = f"---\n{opening}rag: x{BLANKS}y, z\nlifecycle:{BLANKS}superseded{BLANKS},\n"
    document = parse_document(f"{text}---\nBody\n".encode())
    assert document.lifecycle == "superseded"


def test_front_matter_that_is_far_too_long_still_hides() -> None:
    text = f"---\n{'k: 1' * 20_000}\nrag: false\n---\nBody\n"
    assert parse_document(text.encode()).excluded


@pytest.mark.parametrize(
    ("suffix", "mark"), [(".org", "#+rag:"), (".adoc", ":rag:"), (".rst", ":rag:")]
)
def test_endless_blanks_in_what_other_markup_declares_take_no_time(suffix: str, mark: str) -> None:
    text = f"{mark} x{BLANKS}y\n{mark}{BLANKS}false{BLANKS}\n"
    assert parse_document(text.encode(), FORMATS[suffix]).excluded


def test_a_cyclic_alias_is_cut_at_its_depth() -> None:
    document = parsed("a: &a [*a, 1]\n")
    value: Any = document.metadata["a"]
    for _ in range(4):
        value = value[0]
    assert value == [None, None]


def test_long_strings_are_cut() -> None:
    assert len(str(parsed(f"x: {'y' * 5_000}\n").metadata["x"])) == 1_000


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".py", ".csv", ".tex"])
def test_only_prose_has_front_matter(suffix: str) -> None:
    text = "---\nrag: false\n---\n"
    kind = FORMATS[suffix]
    assert parse_document(text.encode(), kind) == Document(text, syntax=kind.syntax)


@pytest.mark.parametrize(
    ("suffix", "text", "title"),
    [
        (".md", "Setext\n======\n", "Setext"),
        (".md", "## Only a section\n", None),
        (".md", "```\n# in a fence\n```\n", None),
        (".md", "    # indented code\n", None),
        (".txt", "# A line of a log\n", None),
        (".rst", "=====\nTitle\n=====\n\nSection\n-------\n", "Title"),
        (".rst", "Title\n-----\n", "Title"),
        (".org", "#+TITLE: The plan\n* First\n", "The plan"),
        (".org", "* TODO [#A] First  :tag:\n", "First"),
        (".adoc", "= The plan\n:toc:\n\n== First\n", "The plan"),
        (".py", "# comment\n", None),
    ],
)
def test_the_title_is_the_first_heading_of_the_format(
    suffix: str, text: str, title: str | None
) -> None:
    assert parse_document(text.encode(), FORMATS[suffix]).title == title


SHORT = "# Заметка\n\nПривет, мир\n"


@pytest.mark.parametrize(
    ("data", "text", "warning"),
    [
        ("é".encode(), "é", None),
        (codecs.BOM_UTF8 + b"---\ntitle: T\n---\n", "---\ntitle: T\n---\n", None),
        ("# Ж\n".encode("utf-16"), "# Ж\n", None),
        (codecs.BOM_UTF16_BE + "# Ж\n".encode("utf-16-be"), "# Ж\n", None),
        ("# Ж\n".encode("utf-32"), "# Ж\n", None),
        ("Plain words, no mark\n".encode("utf-16-le"), "Plain words, no mark\n", None),
        ("Plain words, no mark\n".encode("utf-16-be"), "Plain words, no mark\n", None),
        ("検索エンジン\n".encode("iso2022_jp"), "検索エンジン\n", None),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n", None),
        (b"one\rtwo\r", "one\ntwo\n", None),
        (b"one\ntwo\rthree\r\n", "one\ntwo\rthree\r\n", None),
        (SHORT.encode("cp1251"), SHORT, "encoding guessed: cp1251"),
        (SHORT.encode("koi8_r"), SHORT, "encoding guessed: koi8_r"),
        (SHORT.encode("cp866"), SHORT, "encoding guessed: cp866"),
        ("# メモ\n\n検索エンジン\n".encode("shift_jis"), "# メモ\n\n検索エンジン\n",
         "encoding guessed: cp932"),
        ("今日は会議があります。".encode("euc_jp"), "今日は会議があります。",
         "encoding guessed: euc_jp"),
        ("今天开会讨论数据库".encode("gb2312"), "今天开会讨论数据库",
         "encoding guessed: gb2312"),
        ("今天開會討論資料庫".encode("big5"), "今天開會討論資料庫", "encoding guessed: big5"),
        ("검색 엔진 설계".encode("euc_kr"), "검색 엔진 설계", "encoding guessed: euc_kr"),
        ("café résumé".encode("cp1252"), "café résumé", "encoding guessed: cp1252"),
        ("Zażółć gęślą jaźń".encode("cp1250"), "Zażółć gęślą jaźń",
         "encoding guessed: cp1250"),
        ("Zażółć gęślą jaźń".encode("iso8859_2"), "Zażółć gęślą jaźń",
         "encoding guessed: iso8859_2"),
        ("Güneş ışığı şimdi".encode("cp1254"), "Güneş ışığı şimdi",
         "encoding guessed: cp1254"),
        ("Καλημέρα κόσμε".encode("cp1253"), "Καλημέρα κόσμε", "encoding guessed: cp1253"),
        (("Длинный текст в UTF-8. " * 9).encode() + b"\xff\n",
         "Длинный текст в UTF-8. " * 9 + "\ufffd\n", "1 characters are not UTF-8"),
    ],
)  # fmt: skip
def test_text_is_decoded(data: bytes, text: str, warning: str | None) -> None:
    assert decode(data) == (text, warning)


SHORT_TEXTS = {
    "cp1252": ["Straße café", "naïve", "señor", "Grüße", "5 €", "100 £", "a – b", "“ok”", "Übung",
               "El Niño", "São Paulo", "coûte 3 €", "Ærø", "smörgåsbord", "Åsa & José", "ÉCOLE",
               "Café René, Straße 5, mañana", "Größe der Wohnung: 77 m²", "77 m²", "½ Liter Öl",
               "12 m³ und 4 m²; Preis 3 £", "Fläche 12 km², Höhe 3 cm", "5 µm für 2 × 3 Rohre",
               "1½ Stunden", "¼ crème", "5 cm³ d’eau", "Preis je m³: 3 €"],
    "cp1250": ["żółć", "Kraków i Łódź", "příliš žluťoučký", "był mały", "Łódź leży", "mł. asp. Wąs",
               "miał młyn, 12 młodych", "dom ma 3 × 4 m, był mały", "mł. insp. Jan był"],
    "iso8859_2": ["był mały", "Łódź leży", "mł. asp. Wąs", "miał młyn, 12 młodych"],
    "cp1251": ["Привет", "да", "Привет, мир", "Ёлка", "МОСКВА", "тест test", "Київ і Львів"],
    "koi8_r": ["Привет", "да", "Привет, мир", "МОСКВА", "тест test", "Я иду домой"],
    "cp866": ["Привет", "Привет, мир", "МОСКВА", "тест test"],
    "cp1253": ["Καλημέρα", "Αθήνα"],
    "cp1255": ["שלום", "שלום עולם"],
    "cp1254": ["Güneş ışığı, 77 m²"],
    "mac_roman": ["Straße café", "Grüße"],
    "shift_jis": ["検索", "メモ", "今日は", "会議", "カフェ", "こんにちは", "東京", "議事録 2024"],
    "euc_jp": ["検索エンジン", "メモ", "今日は", "会議があります"],
    "gb18030": ["你好", "今天开会", "中文", "会议记录", "数据库 v2", "测试"],
    "big5": ["你好", "今天開會", "會議記錄", "資料庫"],
    "euc_kr": ["안녕", "검색", "회의록"],
    "utf-16": ["hello", "Привет", "検索", "é", "a"],
    "utf-16-le": ["hello", "Привет", "Привет, мир", "検索エンジン"],
    "utf-16-be": ["hello", "Привет", "検索エンジン"],
    "utf-8-sig": ["é"],
    "utf-32": ["hello"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in SHORT_TEXTS.items() for text in texts]
)
def test_even_a_few_words_are_decoded_right(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 40,
        b"\x7fELF\x02\x01\x01\x00\x03\x00>\x00" * 100,
        b"text\x00\x00\x00\x01\x02\x03" * 9,
    ],
)
def test_binary_bytes_are_no_text(data: bytes) -> None:
    with pytest.raises(NotText):
        decode(data)


def test_a_long_line_and_an_empty_file_are_documents() -> None:
    line = "word " * 13_000
    assert parse_document(line.encode()) == Document(line)
    assert parse_document(b"") == Document("")


def test_a_converted_file_is_a_document_with_pages_and_metadata() -> None:
    extract = Extract(
        "one\n\ntwo\n",
        "",
        ((0, "page 1"), (5, "page 2")),
        {"author": "Ann", "updated": "2024-01-02"},
    )
    document = document_from_extract(extract, FORMATS[".pdf"])
    assert document == Document(
        "one\n\ntwo\n",
        syntax="plain",
        pages=((0, "page 1"), (5, "page 2")),
        dated="2024-01-02T00:00:00",
        metadata={"author": "Ann", "updated": "2024-01-02"},
    )
    assert [label_at(document, offset) for offset in (0, 4, 5, 8)] == [
        "page 1", "page 1", "page 2", "page 2",
    ]  # fmt: skip
    assert label_at(Document("x"), 0) == ""


def test_a_page_that_is_retired_by_its_front_matter_is_retired() -> None:
    extract = Extract("# H\n", metadata={"lifecycle": "superseded", "rag": False})
    document = document_from_extract(extract, FORMATS[".html"])
    assert (document.title, document.lifecycle, document.excluded) == ("H", "superseded", True)


@pytest.mark.parametrize(
    "value",
    ["false", "FALSE.", "[false]", "“false”", "'no'", "never", "none", "0", "Off", "f"],
)
def test_any_plain_no_leaves_a_document_out(value: str) -> None:
    assert parse_document(f"---\nrag: {value}\n---\nx\n".encode()).excluded


@pytest.mark.parametrize(
    "block", ["rag:false", "title: x\n  rag: false", "\trag: false\ntitle: [", "Rag = false"]
)
def test_a_no_in_front_matter_that_does_not_parse_counts_too(block: str) -> None:
    assert parse_document(f"---\n{block}\n---\nx\n".encode()).excluded


def test_a_value_of_rag_that_means_nothing_is_reported() -> None:
    document = parse_document(b"---\nrag: falsch\n---\nx\n")
    assert (document.excluded, document.warnings) == (
        False,
        ("rag 'falsch' is unknown (use false to exclude a document): indexed",),
    )


@pytest.mark.parametrize(
    "value", ["[superseded]", "superseded.", "\n  - superseded", "“Superseded”"]
)
def test_superseded_is_understood_in_a_list_or_with_stray_marks(value: str) -> None:
    document = parse_document(f"---\nlifecycle: {value}\n---\nx\n".encode())
    assert (document.lifecycle, document.warnings) == ("superseded", ())


@pytest.mark.parametrize(
    "value", ['!!int ""', '!!float ""', "!!bool x", "!!timestamp x", "!!int _", "!!binary x"]
)
def test_a_tag_that_yaml_trips_over_costs_the_front_matter_alone(value: str) -> None:
    document = parse_document(f"---\na: {value}\nlifecycle: superseded\n---\n# Body\n".encode())
    assert document.lifecycle == "superseded"
    (warning,) = document.warnings
    assert warning.startswith("front matter does not parse (")


def test_what_is_repeated_with_each_chunk_is_cut_to_its_limit() -> None:
    long = "x" * 80_000
    metadata = {"tags": [long], "aliases": [long]}
    extract = Extract(f"# {long}\n", long, ((0, long),), metadata)
    document = document_from_extract(extract, FORMATS[".html"])
    assert document.title == "x" * LONGEST_TITLE
    assert document.tags == ("x" * LONGEST_TAG,)
    assert document.aliases == ("x" * LONGEST_ALIAS,)
    assert document.pages == ((0, "x" * LONGEST_LABEL),)
    assert [block.heading for block in document.blocks] == ["x" * LONGEST_HEADING]


def test_a_title_in_front_matter_is_cut_to_its_limit() -> None:
    assert parsed(f"title: {'x' * 900}\n").title == "x" * LONGEST_TITLE
