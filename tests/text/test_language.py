"""Which language a text or a query is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.text.language import STOP_WORDS, guess_language, is_foreign, may_be_written_in


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I restart the server when it hangs?", "en"),
        ("Wie starte ich den Server neu, wenn er nicht antwortet?", "de"),
        ("Comment redémarrer le serveur et les tâches ?", "fr"),
        ("¿Cómo se reinicia el servidor de correo?", "es"),
        ("Como é que se reinicia um servidor?", "pt"),
        ("Jak uruchomić serwer, który nie odpowiada?", "pl"),
        ("Как перезапустить сервер, если он завис?", "ru"),
        ("Як перезапустити сервер, якщо він завис?", "uk"),
        ("サーバーを再起動する方法", "ja"),
        ("如何重新启动服务器", "zh"),
        ("서버를 다시 시작하는 방법", "ko"),
        ("HTTPServerError max_batch_size", ""),
        ("mail ann@server.com https://a.de/de/com", ""),
        ("", ""),
    ],
)
def test_script_and_stop_words_tell_the_language(text: str, language: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("text", "candidates", "language"),
    [
        ("kubectl", ["de"], "de"),
        ("kubectl", ["de", "ru"], "de"),
        ("сервер", ["de", "ru"], "ru"),
        ("kubectl", ["de", "fr"], ""),
        ("der Server und die Daten", ["fr", "de"], "de"),
        ("der Server und die Daten", ["fr", "es"], ""),
        ("サーバー", ["de"], ""),
        ("1042", ["de"], ""),
    ],
)
def test_of_given_candidates_the_only_one_of_its_script_needs_no_proof(
    text: str, candidates: list[str], language: str
) -> None:
    assert guess_language(text, candidates) == language


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("best hiking trails near Lake Como", False),
        ("E-1042", False),
        ("", False),
        ("How do I update the database?", False),
        ("el niño", False),
        ("¿Cómo se actualiza la base de datos?", True),
        ("Wie wird die Datenbank aktualisiert?", True),
        ("обновление базы", True),
        ("データベース", True),
    ],
)
def test_only_a_clearly_foreign_text_is_foreign_to_english(text: str, foreign: bool) -> None:
    assert is_foreign(text, {"en"}) is foreign


def test_words_that_two_languages_share_tell_neither() -> None:
    assert guess_language("factura de marzo", ["es", "pt"]) == ""
    assert guess_language("factura de marzo", ["pt", "es"]) == ""
    assert guess_language("factura de marzo") == ""


@given(
    st.lists(st.sampled_from(sorted({w for ws in STOP_WORDS.values() for w in ws.split()}))),
    st.permutations(sorted(STOP_WORDS)),
)
def test_the_order_of_the_candidates_tells_nothing(words: list[str], candidates: list[str]) -> None:
    text = " ".join(words)
    assert guess_language(text, candidates) == guess_language(text, sorted(candidates))


def test_a_tie_among_other_languages_is_still_foreign_and_not_english() -> None:
    assert is_foreign("hvordan er det", {"en"})
    assert not is_foreign("hvordan er det", {"no"})
    assert not may_be_written_in("hvordan er det", "en")


@pytest.mark.parametrize("text", ["the", "an", "kubectl"])
def test_a_text_may_be_english_unless_another_language_is_likelier(text: str) -> None:
    assert may_be_written_in(text, "en")
