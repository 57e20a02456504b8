"""Guesses a text's language from its script and its most common words. Pure.

Good enough to choose a stemmer or to keep an English model away from other languages; leaves
out everything finer. The words are each language's most frequent ones that few others share.
"""

from __future__ import annotations

import re
from collections import Counter

STOP_WORDS = {
    "en": "the of and to in is that it for was with as be on are this by not you have from or "
    "how what when which where why does do can should an at we",
    "de": "der die das und ist nicht mit ein eine den dem auf für von zu sich auch werden wie "
    "wird im ich sie wir oder bei nach aus",
    "fr": "le la les des est et une du dans pour que qui sur pas avec ce il au par sont comment "
    "nous vous cette",
    "es": "el la los las de que y en un una por con para es del se no lo como más pero cómo está",
    "it": "il la di che è e un una per non con del della sono gli nel dei come si più questo",
    "pt": "o a os as de que e em um uma para com não do da é por mais como se na no são",
    "nl": "de het een van en is dat op te zijn voor met niet aan er ook als bij wordt naar hoe",
    "sv": "och att det som en på är av för med till den har inte om ett jag hur",
    "da": "og at det er en på af for med til den har ikke som der et hvordan",
    "no": "og at det er en på av for med til den har ikke som et hvordan å",
    "fi": "ja on ei että se oli ovat tai myös kun mutta niin kuin miten",
    "hu": "a az és hogy nem egy is van meg de ez csak hogyan",
    "ro": "și în de la cu este pe nu o un care pentru mai din ce cum",
    "tr": "ve bir bu için ile de da olarak çok ne nasıl var daha gibi",
    "ru": "и в не на что с по это как к из для а но он мы от или при если также",
    "uk": "і в не на що з це як до та для але від або й ми він якщо",
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
SAMPLE = 20_000  # characters looked at
_WORDS = {language: frozenset(words.split()) for language, words in STOP_WORDS.items()}


def guess_language(text: str) -> str:
    """The ISO 639-1 code of `text`'s likeliest language; "" where nothing speaks for one."""
    sample = text[:SAMPLE].lower()
    letters = sum(map(str.isalpha, sample)) or 1
    for language, script in SCRIPTS:
        # Kana decides for Japanese even among many Chinese characters.
        if len(script.findall(sample)) > (0.05 if language == "ja" else 0.3) * letters:
            return language
    cyrillic = len(CYRILLIC.findall(sample)) > 0.3 * letters
    candidates = ("ru", "uk") if cyrillic else tuple(k for k in _WORDS if k not in ("ru", "uk"))
    words = Counter(re.findall(r"[^\W\d_]+", sample))
    scores = {k: sum(n for w, n in words.items() if w in _WORDS[k]) for k in candidates}
    best = max(candidates, key=scores.__getitem__)
    if scores[best]:
        return best
    return "ru" if cyrillic else ""
