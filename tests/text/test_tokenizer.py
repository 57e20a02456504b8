"""Text to index terms: what is found by what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.text.stemming import folded
from local_rag.text.tokenizer import Word, words


def exact_and_stems(text: str, language: str = "en") -> list[tuple[str, tuple[str, ...]]]:
    return [(word.whole, word.stems) for word in words(text, language)]


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("HTTPServerError", "httpservererror", ("http", "server", "error")),
        ("getUserID", "getuserid", ("get", "user", "id")),
        ("max_batch_size", "max_batch_size", ("max", "batch", "size")),
        ("ERR_TIMELINE_FORK", "err_timeline_fork", ("err", "timelin", "fork")),
        ("E-1042", "e-1042", ("e", "1042")),
        ("1.0.21", "1.0.21", ("1", "0", "21")),
        ("v2.3.1", "v2.3.1", ("v", "2", "3", "1")),
        ("kube-system", "kube-system", ("kube", "system")),
        ("C++", "c++", ("c",)),
        ("C#", "c#", ("c",)),
        (".NET", ".net", ("net",)),
        ("foo.py", "foo.py", ("foo", "py")),
        ("/etc/hosts", "etc/hosts", ("etc", "host")),
        (r"C:\Windows\System32", r"c:\windows\system32", ("c", "window", "system", "32")),
        ("0x7f", "0x7f", ("0x7f",)),
        ("9f86d081884c7d65", "9f86d081884c7d65", ("9f86d081884c7d65",)),
        ("sha256", "sha256", ("sha", "256")),
        ("10GB", "10gb", ("10", "gb")),
        ("1,000", "1000", ("1", "000")),
        ("ann@example.com", "ann@example.com", ("ann", "exampl", "com")),
        (
            "https://example.com/docs/a.md",
            "https://example.com/docs/a.md",
            ("https", "exampl", "com", "doc", "a", "md"),
        ),
        ("std::vector", "std::vector", ("std", "vector")),
        ("192.168.0.1:8080", "192.168.0.1:8080", ("192", "168", "0", "1", "8080")),
        ("getПользователь", "getпользователь", ("get", "пользовател")),
    ],
)
def test_an_identifier_is_a_term_as_a_whole_and_in_parts(
    text: str, whole: str, parts: tuple[str, ...]
) -> None:
    assert exact_and_stems(text) == [(whole, parts)]
    assert exact_and_stems(f"see `{text}`, (or not).")[1] == (whole, parts)


def test_the_pieces_of_a_path_or_an_address_are_terms_of_a_document() -> None:
    [word] = words("https://example.com/docs/a.md", "en")
    assert word.exact == ("https://example.com/docs/a.md", "https", "example.com", "docs", "a.md")


@pytest.mark.parametrize(
    ("text", "identifier"),
    [("HTTPServerError", True), ("C++", True), ("1.0.21", True), ("server", False),
     ("two-dimensional", False), ("веб-сервер", False), ("E-1042", True), ("2015", False)],
)  # fmt: skip
def test_words_that_prose_joins_by_a_hyphen_are_no_identifier(text: str, identifier: bool) -> None:
    assert [word.identifier for word in words(text, "en")] == [identifier]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "The servers were restarting", "a server will restart"),
        ("de", "Häuser", "Haus"),
        ("ru", "ёлки", "елка"),
        ("ru", "резервного копирования", "резервное копирование"),
        ("fr", "l'économie", "économies"),
        ("es", "aplicaciones", "aplicación"),
        ("ru", "deployments", "deployment"),
        ("en", "сервером", "серверы"),
        ("hi", "किताबों", "किताब"),
    ],
)
def test_forms_of_a_word_share_their_stem_in_any_language(
    language: str, one: str, other: str
) -> None:
    def telling(text: str) -> list[tuple[str, ...]]:
        return [word.stems for word in words(text, language) if not word.stop]

    assert telling(one) == telling(other)


def test_an_apostrophe_leaves_no_stray_letter() -> None:
    assert exact_and_stems("Ann's don't l'eau they’re") == [
        ("ann", ("ann",)), ("don", ("don",)), ("eau", ("eau",)), ("they", ("they",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "plain"),
    [("Résumé", "resume"), ("STRASSE", "strasse"), ("Straße", "strasse"), ("Ёлка", "елка"),
     ("Йод", "йод"), ("İstanbul", "istanbul"), ("Łódź", "lodz"), ("naïve", "naive"),
     ("ελληνικά", "ελληνικα"), ("हिन्दी", "हिन्दी")],
)  # fmt: skip
def test_accents_are_folded_but_letters_stay(word: str, plain: str) -> None:
    assert folded(word) == plain


def test_a_word_with_accents_is_a_term_with_and_without_them() -> None:
    [word] = words("Château", "fr")
    assert word == Word("château", "chateau", ("chateau",))
    assert word.exact == ("château", "chateau")


def test_composed_decomposed_and_wide_letters_are_the_same() -> None:
    assert list(words("Cafe\u0301 ＡＢＣ", "fr")) == list(words("Café ABC", "fr"))
    assert exact_and_stems("co\u00adoper\u200date") == exact_and_stems("cooperate")


@pytest.mark.parametrize(
    ("text", "pairs", "whole"),
    [
        ("東京タワー", ("東京", "京タ", "タワ", "ワー"), "東京タワー"),
        ("東", ("東",), "東"),
        ("한국어", ("한국", "국어"), "한국어"),
        ("ไทย", ("ไท", "ทย"), "ไทย"),
        ("設定ファイルを読み込む", ("設定", "定フ", "ファ", "ァイ", "イル", "ルを", "を読", "読み",
                          "み込", "込む"), ""),
    ],
)  # fmt: skip
def test_text_without_blanks_gives_pairs_of_characters(
    text: str, pairs: tuple[str, ...], whole: str
) -> None:
    [word] = words(text, "ja")
    assert (word.stems, word.whole, word.exact[-1]) == (pairs, whole, text[-1])


def test_scripts_that_meet_in_one_word_are_told_apart() -> None:
    assert [w.stems for w in words("Python入門", "ja")] == [("python",), ("入門",)]


def test_the_stop_words_of_the_language_are_marked() -> None:
    marked = {w.whole: w.stop for w in words("What is the timeout of kube-proxy", "en")}
    assert marked == {"what": True, "is": True, "the": True, "timeout": False, "of": True,
                      "kube-proxy": False}  # fmt: skip
    assert [w.stop for w in words("что такое the event loop", "ru")] == [
        True, False, True, False, False,
    ]  # fmt: skip


def test_what_has_no_letter_and_no_digit_gives_nothing() -> None:
    assert list(words("-- ... \"' * 🙂 -> ## \u0301 \0 _", "en")) == []


def test_an_endless_line_gives_terms_of_bounded_length() -> None:
    found = list(words("x" * 70_000 + "/" + "aB" * 40_000, "en"))
    assert max(len(term) for word in found for term in (*word.exact, *word.stems)) == 128


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["", "en", "ru", "tr", "ja"]))
def test_any_text_gives_terms_without_blanks_or_quotes(text: str, language: str) -> None:
    for word in words(text, language):
        assert word.stems
        for term in (*word.exact, *word.stems):
            assert term
            assert not set(term) & set(" \t\n\r\f\v\0\"'*()^")


def test_a_letter_with_400_kb_of_marks_is_one_word_with_its_first_marks() -> None:
    marks = "\u0301\u0323" * 200_000
    assert list(words(f"a{marks} b", "en")) == list(words(f"a{marks[:30]} b", "en"))
