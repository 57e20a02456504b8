"""Ingest: look at the store and the corpus, compare the two, and change what differs.

Most runs of a scheduler find nothing to do. So what parses, embeds and writes (`changes`) is not
even imported before there is something: that would take longer than reading 30,000 files. Leaves
out the command line and how progress is shown.
"""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from pathlib import Path

from local_rag.corpus.gitignore import IGNORE_FILE, ignores_beside
from local_rag.corpus.scan import Scan, scan
from local_rag.corpus.walk import WalkScope
from local_rag.embedding.identity import check_asked, identity_notices
from local_rag.index.snapshots import Store
from local_rag.ingest.base_snapshot import BaseSnapshot, load_base_snapshot
from local_rag.ingest.plan import check_roots_known, check_roots_present, plan_from
from local_rag.ingest.recipe import manifest_of, recipe_of, says_the_same
from local_rag.ingest.report import Options, Progress, Report
from local_rag.ingest.snapshot_writer import SnapshotWriter
from local_rag.ingest.store_disk import store_warnings, writing
from local_rag.settings import Settings


def run_ingest(settings: Settings, options: Options, progress: Progress) -> Report:
    """Brings the store up to date with the corpus, or says what that would take.

    Raises:
        RagError: nothing was done; the live snapshot is as it was.
    """
    store = Store(settings.store_dir)
    snapshots = SnapshotWriter(store)
    with nullcontext() if options.dry_run else snapshots.lock(), writing(store.path):
        live = load_base_snapshot(store, remember=not options.dry_run)
        if not options.dry_run:
            snapshots.prune()  # what a killed run left may take the room that this one needs
        if live.snapshot and not options.allow_empty:
            check_roots_known(live.snapshot.manifest.roots, settings.roots)
        ignores, bad = ignores_beside(settings.store_dir)
        place = Path(os.path.realpath(settings.store_dir))
        on_disk = scan(settings.roots, settings.max_file_bytes, WalkScope(ignores, place))
        if not options.allow_empty:
            check_roots_present(on_disk, live.files, settings.roots)
        if live.identity and not options.rebuild:
            check_asked(live.identity, settings.embedder, settings.model)
        report = None if options.anew else _unchanged(live, on_disk, settings)
        if report is None:
            report = _change(snapshots, settings, options, live, on_disk, progress=progress)
        report.dry_run = options.dry_run
        ignore_file = settings.store_dir.parent / IGNORE_FILE
        report.undecided += [f"{ignore_file}:{line}" for line in bad]
        report.notices = [
            *([f"{live.damage} This run mends it."] if live.damage else []),
            *(f"{ignore_file}: line {n} is not a valid pattern." for n in bad),
            *report.notices,
            *store_warnings(place),
        ]
        return report


def _unchanged(live: BaseSnapshot, on_disk: Scan, settings: Settings) -> Report | None:
    """The report of a run in which there is nothing to do; None if there is something."""
    if live.snapshot is None or live.identity is None or live.damage:
        return None
    old = live.snapshot.manifest
    plan = plan_from(old, live.files, on_disk, recipe_of(live.identity.kind, settings))
    if plan.todo or plan.gone:
        return None
    report = Report(embedder=live.identity.label)
    report.note(plan)
    manifest = manifest_of(
        live.identity, settings, old.counts, report, reference=old.reference, known=old.roots
    )
    report.notices += identity_notices(live.identity, settings.model)
    return report if says_the_same(manifest, old) else None


def _change(
    snapshots: SnapshotWriter,
    settings: Settings,
    options: Options,
    live: BaseSnapshot,
    on_disk: Scan,
    *,
    progress: Progress,
) -> Report:
    from local_rag.ingest.apply import SnapshotUpdate, choose_embedder

    choice = choose_embedder(settings, live, on_disk, rebuild=options.rebuild)
    with closing(SnapshotUpdate(snapshots, settings, choice, live, options)) as changes:
        return changes.preview(on_disk) if options.dry_run else changes.make(on_disk, progress)
