"""The named failures. Each message says in one line what is wrong and what to do next.

`cli/` turns them into exit codes, `tools/toolset.py` into tool errors. A failure is never an empty
result.
"""

from __future__ import annotations


class RagError(Exception):
    """Base of every failure that a person can act on.

    `what` is one sentence about what is wrong, `remedy` one about what to do.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(" ".join(f"{what} {remedy}".split()))


class SettingsError(RagError):
    """An option from the environment or the settings file is not valid."""


class CorpusUnavailable(RagError):
    """A corpus folder is missing, or empty although documents of it are in the index."""


class IngestRunning(RagError):
    """Another ingest holds the store's lock."""


class NoIndexYet(RagError):
    """The store holds no published snapshot: ingest has not finished once."""


class IndexUnreadable(RagError):
    """A published snapshot exists but cannot be opened or searched."""


class IndexOutdated(RagError):
    """An earlier version wrote the index, and what is asked for was not yet in it."""


class IndexTooNew(RagError):
    """A newer version of this program wrote the index; it is neither read nor replaced."""


class StoreUnwritable(RagError):
    """The disk is full or failing, or the store's folder may not be written."""


class EmbedderAway(RagError):
    """The embedder cannot be used: not running, no model, busy, refused, timed out.

    Nothing is wrong with the text, so the same text can be tried again later.
    """


class EmbedderFaltered(EmbedderAway):
    """The embedder broke off a request. A text may have crashed it, or it is down altogether; only
    a known good text can tell.
    """


class TextTooLong(RagError):
    """One text has more tokens than the embedder takes. Sent again unchanged it fails again."""


class TextRejected(RagError):
    """The embedder returned an error or an unusable vector for one text."""


class EmbedderChanged(RagError):
    """The index's vectors come from another embedder, model or prefix scheme than this one."""


class DocumentNotFound(RagError):
    """No indexed document has this path."""


class PathRefused(RagError):
    """A path leads out of its root, or no longer to the file that was indexed."""


class OutputLost(RagError):
    """A command's standard output is closed or full, so its result reached nobody."""


class BadArgument(RagError):
    """A tool was called with an argument that is missing, unknown or of the wrong kind."""
