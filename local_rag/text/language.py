"""Guesses a text's language from its script and its most common words. Pure.

Good enough to choose a stemmer or to keep an English model away from other languages. The words are
each language's most frequent ones that few other languages share.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

STOP_WORDS = {
    "en": "the of and to in is that it for was with as be on are this by not you have from or "
    "how what when which where why does do can should an at we a i if will your so no but they "
    "has had were who whom whose did its their there these those then than been into about",
    "de": "der die das und ist nicht mit ein eine den dem auf für von zu sich auch werden wie "
    "wird im ich sie wir oder bei nach aus was wer wo wann warum welche des es in an er sind",
    "fr": "le la les des est et une du dans pour que qui sur pas avec ce il au par sont comment "
    "nous vous cette de un en à se ne où quand pourquoi quel quelle ou",
    "es": "el la los las de que y en un una por con para es del se no lo como más pero cómo está "
    "qué cuál dónde cuándo quién al su a o",
    "it": "il la di che è e un una per non con del della sono gli nel dei come si più questo "
    "le lo i a da in cosa chi dove quando quale perché",
    "pt": "o a os as de que e em um uma para com não do da por mais como se na no são "
    "qual quem onde quando dos das ao ou",
    "nl": "de het een van en is dat op te zijn voor met niet aan er ook als bij wordt naar hoe "
    "wat wie waar wanneer waarom welke in of",
    "sv": "och att det som en på är av för med till den har inte om ett jag hur "
    "vad vem var när varför vilken i de",
    "da": "og at det er en på af for med til den har ikke som der et hvordan "
    "hvad hvem hvor hvornår hvorfor hvilken i de",
    "no": "og at det er en på av for med til den har ikke som et hvordan å "
    "hva hvem hvor når hvorfor hvilken i de",
    "fi": "ja on ei että se oli ovat tai myös kun mutta niin kuin miten mikä kuka missä milloin "
    "miksi",
    "hu": "a az és hogy nem egy is van meg de ez csak hogyan mi ki hol mikor miért melyik",
    "ro": "și în de la cu este pe nu o un care pentru mai din ce cum cine unde când să al",
    "pl": "i w nie na z się do to że jest o jak co po ale od za dla czy są przez jako który "
    "która które kto gdzie kiedy dlaczego",
    "cs": "a v se na je že s z do i to o k pro jako jsou za ale by jak co který která které kdo "
    "kde kdy proč není",
    "tr": "ve bir bu için ile de da olarak çok ne nasıl var daha gibi kim nerede hangi neden",
    "ru": "и в не на что с по это как к из для а но он мы от или при если также "
    "кто чем какой какая какое какие каком где когда почему зачем сколько о об у за до то же "
    "был была было были бы ли я ты вы она они его её их этот эта эти так уже чтобы во со",
    "uk": "і в не на що це з як до та для але від або й ми він якщо "
    "хто який яка яке які де коли чому навіщо скільки про у за був була було були",
}
SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
CYRILLIC = re.compile(r"[\u0400-\u04ff]")
# A word of prose, not part of an address, an identifier or a tag.
PROSE_WORD = re.compile(r"(?<![\w@./:<=-])[^\W\d_]+(?![\w@/:=-]|\.\w)")
LANGUAGE_SAMPLE_CHARS = 20_000  # characters looked at
LEAST_STOP_WORDS = (
    0.03  # of all words; prose in any of the languages has ten times that many stop words
)
_WORDS = {language: frozenset(words.split()) for language, words in STOP_WORDS.items()}
# The Snowball algorithm of each language that has one.
SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
# The script of languages not written in Latin, by its Unicode name.
SCRIPT_OF = {
    "ru": "CYRILLIC", "uk": "CYRILLIC", "sr": "CYRILLIC", "el": "GREEK", "ar": "ARABIC",
    "he": "HEBREW", "hi": "DEVANAGARI", "ne": "DEVANAGARI", "hy": "ARMENIAN", "ta": "TAMIL",
    "ja": "CJK", "zh": "CJK", "ko": "HANGUL", "th": "THAI",
}  # fmt: skip
# The language assumed for a word whose script is not that of its text's language.
LIKELIEST = {
    "LATIN": "en", "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi",
    "ARMENIAN": "hy", "TAMIL": "ta",
}  # fmt: skip


def known_languages() -> list[str]:
    """The ISO 639-1 codes that a setting may name."""
    return sorted({*SNOWBALL, *SCRIPT_OF, *STOP_WORDS})


def guess_language(text: str, candidates: Collection[str] = ()) -> str:
    """The ISO 639-1 code of `text`'s likeliest language; "" if there is none.

    With `candidates` it is one of those or "". A candidate that is the only one of the text's
    script needs no further evidence.
    """
    likeliest = _likeliest_languages(text, frozenset(candidates))
    return next(iter(likeliest)) if len(likeliest) == 1 else ""


def may_be_written_in(text: str, language: str) -> bool:
    """Whether nothing speaks more for another language than for this one."""
    likeliest = _likeliest_languages(text, frozenset())
    return not likeliest or language in likeliest


def is_foreign(text: str, known: Collection[str]) -> bool:
    """Whether `text` is clearly in none of the `known` languages.

    It is clear if the script differs, or if the text has two different common words of another
    language and fewer of a known one: "near Lake Como" alone is not Spanish.
    """
    likeliest = _likeliest_languages(text, frozenset())
    if not likeliest or not likeliest.isdisjoint(known):
        return False
    words = set(PROSE_WORD.findall(text.lower()))
    own = max((len(words & _WORDS.get(language, frozenset())) for language in known), default=0)
    return any(k in SCRIPT_OF or len(words & _WORDS[k]) > max(own, 1) for k in likeliest)


@lru_cache(maxsize=1 << 14)
def word_language(letter: str, language: str) -> str:
    """The language of a word that starts with `letter` in a text of `language`.

    It is the text's language if that uses the letter's script, else the script's likeliest.
    """
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script == SCRIPT_OF.get(language, "LATIN") and language:
        return language
    return LIKELIEST.get(script, "")


def is_stop_word(word: str, language: str) -> bool:
    """Whether a lower-case word is a stop word of this language."""
    return word in _WORDS.get(language, ())


def _likeliest_languages(text: str, candidates: frozenset[str]) -> frozenset[str]:
    """The languages that most speaks for: one, or several in a tie, or none."""
    sample = text[:LANGUAGE_SAMPLE_CHARS].lower()
    letters = sum(map(str.isalpha, sample))
    for language, script in SCRIPTS:
        # Kana decides for Japanese even among many Chinese characters.
        if len(script.findall(sample)) > (0.05 if language == "ja" else 0.3) * max(letters, 1):
            return frozenset([language]) & (candidates or {language})
    cyrillic = len(CYRILLIC.findall(sample)) > 0.3 * max(letters, 1)
    script_name = "CYRILLIC" if cyrillic else "LATIN"
    known = frozenset(k for k in candidates or _WORDS if SCRIPT_OF.get(k, "LATIN") == script_name)
    if letters and candidates and len(known) == 1:
        return known
    likeliest = _most_stop_words(sample, known)
    return likeliest or frozenset(["ru"] if cyrillic and not candidates else [])


def _most_stop_words(sample: str, candidates: Collection[str]) -> frozenset[str]:
    """The candidates with most of the words; none if hardly a word is any candidate's."""
    words = Counter(PROSE_WORD.findall(sample))
    scores = {k: sum(words[word] for word in _WORDS.get(k, ())) for k in candidates}
    most = max(scores.values(), default=0)
    if most <= LEAST_STOP_WORDS * words.total():
        return frozenset()
    return frozenset(language for language, score in scores.items() if score == most)
