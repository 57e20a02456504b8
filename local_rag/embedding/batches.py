"""Makes batches, and embeds them so that a bad text costs only itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from local_rag.embedding.base import Embedder, Vector
from local_rag.embedding.canary import CANARY
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import EmbedderAway, EmbedderFaltered, TextRejected, TextTooLong

Outcome = Vector | TextTooLong | TextRejected


def next_batch(embedder: Embedder, waiting: Mapping[bytes, EmbeddingInput]) -> list[bytes]:
    """The keys of the next batch; at least one, however long."""
    keys: list[bytes] = []
    tokens = 0
    for key, passage in islice(waiting.items(), embedder.batch_size):
        tokens += len(embedder.sizing.token_starts(f"{passage.title}\n{passage.text}"))
        if keys and tokens > embedder.batch_tokens:
            break
        keys.append(key)
    return keys


def embed_batch(embedder: Embedder, passages: Sequence[EmbeddingInput]) -> list[Outcome]:
    """For each passage, in order, its vector or why it has none.

    A failing batch is halved until the bad texts are isolated.

    Raises:
        EmbedderAway: the embedder cannot embed a known good text either.
    """
    try:
        return list(embedder.embed_documents(passages))
    except (TextTooLong, TextRejected) as error:
        if len(passages) == 1:
            return [error]
    except EmbedderFaltered as error:
        embedder.embed_documents([CANARY])
        if len(passages) == 1:
            return [_second_try(embedder, passages[0], error)]
    middle = len(passages) // 2
    halves = passages[:middle], passages[middle:]
    return [outcome for half in halves for outcome in embed_batch(embedder, half)]


def _second_try(embedder: Embedder, passage: EmbeddingInput, first: EmbedderFaltered) -> Outcome:
    """Tries once more: a runner that crashed for another reason has restarted by now."""
    try:
        return embedder.embed_documents([passage])[0]
    except (TextTooLong, TextRejected) as error:
        return error
    except EmbedderAway:
        embedder.embed_documents([CANARY])
        return TextRejected(f"The embedder crashed on this text: {first}", "")
