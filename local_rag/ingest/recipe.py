"""The recipe by which a snapshot is made, and the manifest that describes it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from local_rag.chunking.sizes import budget_of
from local_rag.corpus.revision import git_revision
from local_rag.embedding.identity import EmbedderIdentity
from local_rag.index.manifest import Counts, Manifest, RootState
from local_rag.ingest.report import Report
from local_rag.settings import Settings

RECIPE = "6"  # raise it when the same bytes would be indexed differently


def recipe_of(kind: str, settings: Settings) -> str:
    """Everything besides a file's bytes that decides how it is indexed for this embedder kind."""
    sizes = "-".join(str(n) for n in asdict(budget_of(kind)).values())
    stemmer = f"snowball-{importlib.metadata.version('snowballstemmer')}"
    return "/".join([RECIPE, sizes, stemmer, settings.secrets, *settings.languages])


def manifest_of(
    identity: EmbedderIdentity, settings: Settings, counts: Counts, report: Report,
    *, reference: tuple[float, ...], known: Sequence[RootState] = (),
) -> Manifest:  # fmt: skip
    """The manifest of a snapshot that holds `counts`; enters counts and roots into `report`.

    A root that is still at its `known` commit counts as clean as it was then: its documents have
    not changed, and other changes are no reason to publish.
    """
    report.files, report.chunks = counts.files, counts.chunks
    roots = []
    before = {state.path: (state.commit, state.dirty) for state in known}
    for root in settings.roots:
        files, chunks = counts.by_root.get(root.name, (0, 0))
        commit, dirty = git_revision(root.path, known=before.get(str(root.path), ("", False)))
        roots.append(RootState(root.name, str(root.path), commit, dirty, files, chunks))
    report.roots = tuple(roots)
    return Manifest(
        identity=identity,
        recipe=recipe_of(identity.kind, settings),
        roots=tuple(roots),
        files=counts.files,
        chunks=counts.chunks,
        superseded_chunks=counts.superseded_chunks,
        slots=counts.slots,
        pending=len(report.failed),
        reference=reference,
        report=report.lasting(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def says_the_same(manifest: Manifest, old: Manifest) -> bool:
    """Whether two manifests are equal but for the time when they were made."""
    if manifest.report.to_json() != old.report.to_json():  # hashes of skipped files count too
        return False
    return replace(manifest, created=old.created, checksums=old.checksums, report=old.report) == old
