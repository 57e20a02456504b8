"""One ingest: reads the store and the corpus, compares them, and changes what differs.

Most runs of a scheduler find nothing to do. So the code that parses, embeds and writes (`apply`)
is imported only if there is something: importing it takes longer than reading 30,000 files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from local_rag.corpus.gitignore import IGNORE_FILE, ignores_beside
from local_rag.corpus.scan import Scan, scan
from local_rag.corpus.walk import WalkScope
from local_rag.embedding.identity import check_asked, identity_notices
from local_rag.index.snapshots import Store
from local_rag.ingest.base_snapshot import BaseSnapshot, load_base_snapshot
from local_rag.ingest.plan import Plan, check_roots_known, check_roots_present, plan_from
from local_rag.ingest.recipe import manifest_of, recipe_of, says_the_same
from local_rag.ingest.report import Options, Progress, Report
from local_rag.ingest.snapshot_writer import SnapshotWriter
from local_rag.ingest.store_disk import store_warnings, writing
from local_rag.settings import Settings, require_roots


def run_ingest(settings: Settings, options: Options, progress: Progress) -> Report:
    """Brings the store up to date with the corpus, or says what that would take.

    Raises:
        RagError: nothing was done; the live snapshot is as it was.
    """
    require_roots(settings)
    store = Store(settings.store_dir)
    snapshots = SnapshotWriter(store)
    with nullcontext() if options.dry_run else snapshots.lock(), writing(store.path):
        base = load_base_snapshot(store, remember=not options.dry_run)
        if not options.dry_run:
            snapshots.prune()  # what a killed run left may take the space that this one needs
        corpus = _read_corpus(settings, options, base)
        if base.identity and not options.rebuild:
            weights = partial(_weights, settings)
            check_asked(base.identity, settings.embedder, settings.model, weights)
        recipe = recipe_of(base.identity.kind, settings) if base.identity else ""
        plan = plan_from(base, corpus.on_disk, recipe, anew=options.anew)
        report = _unchanged(base, plan, settings)
        if report is None:
            report = _changed(
                snapshots, settings, options,
                base=base, on_disk=corpus.on_disk, plan=plan, progress=progress,
            )  # fmt: skip
        report.dry_run = options.dry_run
        report.undecided += [f"{corpus.ignore_file}:{line}" for line in corpus.bad_lines]
        report.notices = _notices(report, base, corpus)
        return report


@dataclass(frozen=True)
class _Corpus:
    """The documents on disk, the ignore file for all roots with its bad lines, and the store."""

    on_disk: Scan
    ignore_file: Path
    bad_lines: Sequence[int]
    store: Path


def _read_corpus(settings: Settings, options: Options, base: BaseSnapshot) -> _Corpus:
    """Scans the roots. Raises `CorpusUnavailable` if they look like a mistake."""
    if base.snapshot and not options.allow_empty:
        check_roots_known(base.snapshot.manifest.roots, settings.roots)
    ignores, bad_lines = ignores_beside(settings.store_dir)
    store = Path(os.path.realpath(settings.store_dir))
    on_disk = scan(settings.roots, settings.max_file_bytes, WalkScope(ignores, store))
    if not options.allow_empty:
        check_roots_present(on_disk, base.files, settings.roots)
    return _Corpus(on_disk, settings.store_dir.parent / IGNORE_FILE, bad_lines, store)


def _notices(report: Report, base: BaseSnapshot, corpus: _Corpus) -> list[str]:
    """What the person should know: about the index, the ignore file, the run, and the store."""
    away = report.vectors_unusable
    return [
        *([f"{base.damage} This run repairs it."] if base.damage else []),
        *(f"{corpus.ignore_file}: line {n} is not a valid pattern." for n in corpus.bad_lines),
        *report.notices,
        *([f"Searches find keywords only for now: {away}"] if away else []),
        *store_warnings(corpus.store),
    ]


def _unchanged(base: BaseSnapshot, plan: Plan, settings: Settings) -> Report | None:
    """The report of a run that has nothing to do; None if there is something.

    The embedder is not asked: that would load a model every time a scheduler looks.
    """
    if plan.start is None or base.identity is None or base.damage or plan.todo or plan.gone:
        return None
    old = plan.start.manifest
    report = Report(embedder=base.identity.label)
    report.note(plan)
    manifest = manifest_of(
        base.identity, settings, old.counts, report, reference=old.reference, known=old.roots
    )
    report.notices += identity_notices(base.identity, settings.model)
    return report if says_the_same(manifest, old) else None


def _weights(settings: Settings) -> str:
    from local_rag.embedding.choice import weights_of

    return weights_of(settings)


def _changed(
    snapshots: SnapshotWriter,
    settings: Settings,
    options: Options,
    *,
    base: BaseSnapshot,
    on_disk: Scan,
    plan: Plan,
    progress: Progress,
) -> Report:
    from local_rag.ingest.apply import SnapshotUpdate
    from local_rag.ingest.embedder import choose_embedder

    choice = choose_embedder(settings, base, on_disk, rebuild=options.rebuild)
    with closing(SnapshotUpdate(snapshots, settings, choice, base, plan)) as update:
        return update.preview() if options.dry_run else update.make(progress)
