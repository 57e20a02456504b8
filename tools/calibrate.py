#!/usr/bin/env python3
"""Measures the scores below which a match is weak in your documents, and stores them.

It asks questions that hardly any corpus answers, and takes the scores of their best hits. The
threshold is the median of these plus four robust standard deviations: 1.4826 times the median
absolute deviation, which estimates the standard deviation of a normal distribution (Rousseeuw and
Croux 1993). So it holds even if up to half of the questions are about the corpus after all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # when run as a script

from local_rag.cli.streams import prepare_streams, say
from local_rag.embedding.choice import query_embedder_for
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.query_embedder import QueryEmbedder
from local_rag.errors import RagError
from local_rag.index.live_index import LiveIndex, OpenIndex
from local_rag.index.snapshots import Store
from local_rag.ingest.store_disk import replace_private
from local_rag.search.hybrid import Query, search
from local_rag.search.weakness import DEFAULTS, FILE, Thresholds
from local_rag.settings import load_settings

SIGMAS = 4.0
NORMAL = 1.4826
# Beyond these bounds, a measurement says more about the questions than about the corpus.
COSINES = (0.2, 0.4)
COVERAGES = (0.4, 0.8)
QUESTIONS = {
    "en": (
        "How long should I boil an egg for a soft yolk?",
        "What is the offside rule in football?",
        "Who painted the ceiling of the Sistine Chapel?",
        "How do I remove red wine stains from a carpet?",
        "Which vaccines does a puppy need in its first year?",
        "When does the next train to Hamburg leave?",
        "What are the symptoms of a vitamin B12 deficiency?",
        "How do I prune roses in spring?",
        "Recipe for beetroot soup with sour cream",
        "How do I change the brake pads of a bicycle?",
        "Best hiking trails round the lake",
        "Who won the chess world championship in 1972?",
        "How do I fold a paper crane?",
        "What time does the pharmacy close on Sunday?",
        "Which wine goes with grilled salmon?",
        "How do penguins keep their eggs warm?",
        "What should I wear to a winter wedding?",
        "How do I teach a parrot to talk?",
        "When were the pyramids of Giza built?",
        "Lyrics of a lullaby about the moon",
    ),
    "ru": (
        "Сколько варить яйцо всмятку?",
        "Что такое положение вне игры в футболе?",
        "Кто расписал потолок Сикстинской капеллы?",
        "Как вывести пятно от красного вина с ковра?",
        "Какие прививки нужны щенку в первый год?",
        "Когда отходит следующий поезд в Казань?",
        "Как обрезать розы весной?",
        "Рецепт борща со сметаной",
        "Кто выиграл чемпионат мира по шахматам в 1972 году?",
        "Как сложить журавлика из бумаги?",
        "Какое вино подходит к лососю?",
        "Когда построили пирамиды в Гизе?",
    ),
    "de": (
        "Wie lange kocht ein weiches Ei?",
        "Wann ist ein Stürmer im Abseits?",
        "Wie entferne ich Rotweinflecken aus dem Teppich?",
        "Welche Impfungen braucht ein Welpe im ersten Jahr?",
        "Wann fährt der nächste Zug nach Hamburg?",
        "Wie schneide ich Rosen im Frühling?",
        "Rezept für Kartoffelsuppe mit Speck",
        "Wer wurde 1972 Weltmeister im Schach?",
        "Wie faltet man einen Kranich aus Papier?",
        "Welcher Wein passt zu Lachs?",
    ),
    "es": (
        "¿Cuánto tiempo se cuece un huevo pasado por agua?",
        "¿Qué es el fuera de juego en el fútbol?",
        "¿Cómo quito una mancha de vino tinto de la alfombra?",
        "¿Qué vacunas necesita un cachorro en su primer año?",
        "¿Cuándo sale el próximo tren a Sevilla?",
        "¿Cómo se podan los rosales en primavera?",
        "Receta de tortilla de patatas",
        "¿Quién ganó el campeonato mundial de ajedrez en 1972?",
        "¿Cómo se hace una grulla de papel?",
        "¿Qué vino va bien con el salmón?",
    ),
    "fr": (
        "Combien de temps faut-il cuire un œuf à la coque ?",
        "Qu'est-ce que le hors-jeu au football ?",
        "Comment enlever une tache de vin rouge sur un tapis ?",
        "Quels vaccins pour un chiot pendant sa première année ?",
        "Quand part le prochain train pour Lyon ?",
        "Comment tailler les rosiers au printemps ?",
        "Recette de la soupe à l'oignon",
        "Qui a gagné le championnat du monde d'échecs en 1972 ?",
        "Comment plier une grue en papier ?",
        "Quel vin servir avec du saumon ?",
    ),
}


def threshold(values: Sequence[float], bounds: tuple[float, float]) -> float:
    """The median of `values` plus `SIGMAS` robust standard deviations, clamped to `bounds`."""
    middle = statistics.median(values)
    deviation = NORMAL * statistics.median(abs(value - middle) for value in values)
    return round(min(max(middle + SIGMAS * deviation, bounds[0]), bounds[1]), 3)


def main_language(index: OpenIndex) -> str:
    """The most common language of the files for which there are questions; else English."""
    sql = "SELECT language, count(*) FROM files GROUP BY language ORDER BY count(*) DESC"
    languages = [row[0] for row in index.catalog.rows(sql)]
    return next((language for language in languages if language in QUESTIONS), "en")


def measure(index: OpenIndex, embedder: QueryEmbedder) -> Thresholds:
    """The thresholds, from the best cosine and coverage that each question finds.

    Raises:
        RagError: the embedder is down, so nothing can be measured.
    """
    cosines, coverages = [], []
    manifest = index.snapshot.manifest
    default = DEFAULTS[manifest.identity.kind]
    for question in QUESTIONS[main_language(index)]:
        if manifest.identity.dimension:
            embedder.vector(question, manifest.identity, manifest.reference)  # raises if it is down
        hits = search(index, embedder, Query(question, 10), default).hits
        cosines.append(max((hit.cosine or 0.0 for hit in hits), default=0.0))
        coverages.append(max((hit.coverage for hit in hits), default=0.0))
    coverage = threshold(coverages, COVERAGES)
    if not manifest.identity.dimension:
        return Thresholds(default.cosine, coverage)
    return Thresholds(threshold(cosines, COSINES), max(coverage, default.coverage))


def keep_thresholds(store: Path, identity: EmbedderIdentity, thresholds: Thresholds) -> None:
    """Writes the thresholds beside the index, atomically."""
    text = json.dumps(asdict(thresholds) | {"regime": identity.id}, indent=1)
    replace_private(store / FILE, text + "\n")


def main() -> int:
    """Measures the live index and stores the thresholds; returns the exit code."""
    about = "Measures the scores below which a match is weak in your documents, and stores them."
    argparse.ArgumentParser("calibrate.py", description=about).parse_args()
    try:
        settings = load_settings()
        live = LiveIndex(Store(settings.store_dir))
        with closing(live), live.use() as index:
            identity = index.snapshot.manifest.identity
            embedder = QueryEmbedder(lambda identity: query_embedder_for(settings, identity))
            found = measure(index, embedder)
            keep_thresholds(settings.store_dir, identity, found)
        say(f"{identity.label}: weak below cosine {found.cosine} and coverage {found.coverage}")
    except RagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main())
