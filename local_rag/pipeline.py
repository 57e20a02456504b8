"""Ingest: plan, embed, replace, verify, publish.

Each file's vectors are complete before the file is touched in the draft, and a draft is complete
and checked before anybody sees it. Leaves out the command line and how progress is shown.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

from local_rag.basis import Live, live_snapshot
from local_rag.cache import EmbeddingCache
from local_rag.chunks import chunk_document
from local_rag.disk import writing
from local_rag.documents import Document, NotText, parse_document
from local_rag.draft import Counts, Draft
from local_rag.embedders.batching import KNOWN_GOOD
from local_rag.embedders.choose import Choice, choose_for_existing, choose_for_new
from local_rag.embedding import LiveVectors, Prepared, Resolver, keyed
from local_rag.errors import EmbedderAway, TextRejected
from local_rag.formats import TEXT, format_of
from local_rag.ignores import NAME, ignores_beside
from local_rag.intake import Intake
from local_rag.languages import guess_language
from local_rag.likeness import SAME, known_vector, likeness
from local_rag.manifest import Manifest, RootState
from local_rag.places import warnings_about
from local_rag.plan import Plan, Scan, Todo, check_roots_present, make_plan, read_version, scan
from local_rag.report import Remark, Report, set_aside
from local_rag.revisions import revision
from local_rag.settings import Settings
from local_rag.snapshots import Snapshot, Store
from local_rag.walk import Scope, Skipped

log = logging.getLogger(__name__)

RECIPE = "3"  # raise it when the same bytes would give other chunks or other index terms
LANGUAGE_SAMPLE = 50  # files
DRIFTED = "The embedder embeds differently than for this index; run ingest.py --rebuild"


class Progress(Protocol):
    """What a run tells while it lasts."""

    def start(self, files: int, size: int) -> None:
        """There are `files` to index, `size` bytes in all."""

    def advance(self, path: str, size: int, embedded: int) -> None:
        """A file is done; `embedded` chunks were embedded so far."""


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `repair` is a rebuild with the store's own embedder."""

    rebuild: bool = False
    repair: bool = False
    dry_run: bool = False
    allow_empty: bool = False

    @property
    def anew(self) -> bool:
        """Whether to start from nothing instead of the live snapshot."""
        return self.rebuild or self.repair


def run_ingest(settings: Settings, options: Options, progress: Progress) -> Report:
    """Brings the store up to date with the corpus, or says what that would take.

    Raises:
        RagError: nothing was done; the live snapshot is as it was.
    """
    store = Store(settings.store_dir)
    with nullcontext() if options.dry_run else store.lock(), writing(store.path):
        live = live_snapshot(store)
        if not options.dry_run:
            store.prune()  # what a killed run left may take the room that this one needs
        ignores, bad = ignores_beside(settings.store_dir)
        place = Path(os.path.realpath(settings.store_dir))
        scope = Scope(ignores, place)
        on_disk = scan(settings.roots, settings.max_file_bytes, scope)
        if not options.allow_empty:
            check_roots_present(on_disk, live.files, settings.roots)
        if live.regime and not options.rebuild:
            choice = choose_for_existing(settings, live.regime)
        else:
            choice = choose_for_new(settings, lambda: _is_english(on_disk, settings), live.regime)
        with closing(Ingest(store, settings, choice, live, options)) as run:
            run.report.notices += [
                *([f"{live.damage} This run mends it."] if live.damage else []),
                *(f"{settings.store_dir.parent / NAME}: line {n} is no pattern." for n in bad),
                *choice.notices,
                *warnings_about(place),
            ]
            return run.preview(on_disk) if options.dry_run else run.run(on_disk, progress)


def _is_english(on_disk: Scan, settings: Settings) -> bool:
    roots = {root.name: root for root in settings.roots}
    texts = [found for found, _ in on_disk.versions if not (format_of(found.path) or TEXT).module]
    guesses = []
    for found in islice(texts, 0, None, max(1, len(texts) // LANGUAGE_SAMPLE)):
        read = read_version(roots[found.root], found, settings.max_file_bytes)
        with suppress(NotText):
            if not isinstance(read, Skipped):
                guesses.append(guess_language(parse_document(read[1].data).text))
    return sum(guess in ("en", "") for guess in guesses) * 2 >= len(guesses)


class Ingest:
    """One run into `store`, which is locked. Call `run` or `preview` once."""

    def __init__(
        self, store: Store, settings: Settings, choice: Choice, live: Live, options: Options,
    ) -> None:  # fmt: skip
        self._store, self._settings, self._choice = store, settings, choice
        self._live, self._damage = live.snapshot, live.damage
        self._roots = {root.name: root for root in settings.roots}
        # A rebuild starts from nothing, while what it replaces goes on serving readers.
        self._base = None if options.anew else live.snapshot
        self._indexed = live.files if self._base else ()
        self._draft: Draft | None = None
        self._reference: tuple[float, ...] = ()
        self._options = options
        self._intake = Intake(settings.max_file_bytes, settings.secrets)
        self._rebuilding = self._base is None and live.regime is not None
        self.report = Report(embedder=choice.regime.label, dry_run=options.dry_run)

    def run(self, on_disk: Scan, progress: Progress) -> Report:
        """Does the work and publishes it, if there is any."""
        plan = self._plan(on_disk)
        progress.start(len(plan.todo), sum(todo.size for todo in plan.todo))
        with closing(EmbeddingCache(self._store.cache)) as cache:
            try:
                if plan.todo or not self._base:
                    self._expect_likeness(cache)
                self._index(plan, cache, progress)
                self._publish_if_changed()
            finally:
                if self._draft:
                    self._draft.close()
                    if not self.report.published:
                        self._store.discard(self._draft.folder)
                self._store.prune()  # also of a draft that could not even be begun
            cache.prune()
        return self.report

    def _expect_likeness(self, cache: EmbeddingCache) -> None:
        """Looks whether the embedder embeds as it did, so that no index mixes two kinds."""
        if self._choice.embedder is None:
            return
        try:
            now = known_vector(self._choice.embedder)
        except (EmbedderAway, TextRejected) as error:
            self._choice = replace(self._choice, embedder=None, away=str(error))
            return
        key = KNOWN_GOOD.key(self._choice.regime)
        then = self._base.manifest.reference if self._base else cache.get([key]).get(key)
        if then is not None and len(then) and likeness(now, then) < SAME:
            if self._base:
                self._choice = replace(self._choice, embedder=None, away=DRIFTED)
                return
            log.warning("the embedder has changed: what it embedded before is put away")
            cache.clear()
            self._live = None
        cache.put({key: now})
        self._reference = tuple(float(x) for x in now)

    def close(self) -> None:
        """Ends the process in which files were converted."""
        self._intake.close()

    def preview(self, on_disk: Scan) -> Report:
        """Says what `run` would do, and changes nothing."""
        plan = self._plan(on_disk)
        self.report.deleted = len(plan.gone)
        live = LiveVectors(self._live, self._choice.regime)
        with closing(live):
            for file in self._prepared(plan.todo):
                self._count(file.todo)
                known = live.known([key for _, key in file.chunks])
                self.report.embedded += len({key for _, key in file.chunks} - known)
        return self.report

    @property
    def _recipe(self) -> str:
        sizes = "-".join(str(n) for n in asdict(self._choice.sizing.budget).values())
        stemmer = f"snowball-{importlib.metadata.version('snowballstemmer')}"
        settings = self._settings
        return "/".join([RECIPE, sizes, stemmer, settings.secrets, *settings.languages])

    def _plan(self, on_disk: Scan) -> Plan:
        same = self._base is not None and self._base.manifest.recipe == self._recipe
        # A file that took its converter a minute in vain is not tried again until it changes.
        aside = set_aside(self._base.manifest.report) if self._base and same else {}
        plan = make_plan(on_disk, self._indexed, same_recipe=same, aside=aside)
        self.report.skipped += plan.skipped
        self.report.unchanged = len(plan.unchanged)
        for record in plan.unchanged + plan.held:
            self.report.warnings += [Remark(record.root, record.path, w) for w in record.warnings]
        return plan

    def _index(self, plan: Plan, cache: EmbeddingCache, progress: Progress) -> None:
        for record in plan.gone:
            self._writable().remove(record.number)
            self.report.deleted += 1
        regime = self._choice.regime
        with closing(LiveVectors(self._live, regime)) as live:
            resolver = Resolver(
                self._choice.embedder, regime, cache, live.lookup, self._choice.away
            )
            files = self._prepared(plan.todo)
            for file in resolver.resolve(files) if regime.dimension else files:
                self.report.embedded = resolver.embedded
                if file.failure and resolver.away and self._rebuilding:
                    what = f"The rebuild stopped: {resolver.away} The index is as it was."
                    raise EmbedderAway(what, "Run it again; what is embedded is kept.")
                self._replace(file)
                progress.advance(file.version.path, file.version.size, resolver.embedded)
            self.report.embedded = resolver.embedded

    def _prepared(self, todos: Sequence[Todo]) -> Iterator[Prepared]:
        """The files that are to be indexed, read again and cut into chunks."""
        sizing, regime = self._choice.sizing, self._choice.regime
        for todo in todos:
            read = read_version(
                self._roots[todo.found.root], todo.found, self._settings.max_file_bytes
            )
            if isinstance(read, Skipped):
                self.report.skipped.append(read)
                continue
            version, content = read
            document = self._document(todo, content.data, version.sha256)
            if document is None:
                self._drop(todo)
                continue
            for text in document.warnings:
                self.report.warnings.append(Remark(version.root, version.path, text))
            chunks = chunk_document(document, sizing.budget, sizing.token_starts)
            yield Prepared(todo, version, document, keyed(document, chunks, regime))

    def _document(self, todo: Todo, data: bytes, sha256: str) -> Document | None:
        document = self._intake.read(todo.found, data, sha256)
        if isinstance(document, Skipped):
            self.report.skipped.append(document)
            return None
        if document.excluded:
            self.report.left_out += 1
            return None
        return document

    def _drop(self, todo: Todo) -> None:
        """A file that was indexed and now is none: `rag: false`, or no text any more."""
        if todo.old:
            self.report.deleted += 1
            if not self._options.dry_run:
                self._writable().remove(todo.old.number)

    def _replace(self, file: Prepared) -> None:
        old = file.todo.old
        if file.failure:
            remark = Remark(file.version.root, file.version.path, file.failure)
            self.report.failed.append(remark)
            if old and old.lifecycle != file.document.lifecycle:  # retiring never waits
                document = file.document
                self._writable().set_lifecycle(
                    old.number, document.lifecycle, document.superseded_by
                )
            return
        if old:
            self._writable().remove(old.number)
        language = guess_language(file.document.text, self._settings.languages)
        self._writable().add(
            file.version, file.document, file.chunks, file.ordered_vectors, language
        )
        self._count(file.todo)
        log.debug("indexed %d files", self.report.indexed)

    def _count(self, todo: Todo) -> None:
        setattr(self.report, todo.change, getattr(self.report, todo.change) + 1)

    def _writable(self) -> Draft:
        if self._draft is None:
            self._draft = Draft.begin(self._store, self._choice.regime, self._base)
        return self._draft

    def _publish_if_changed(self) -> None:
        if self._draft is None and self._base and not self._damage:
            manifest = self._manifest(_counts_of(self._base))
            old = self._base.manifest
            if replace(manifest, created=old.created, seals=old.seals) == old:
                return
        manifest = self._manifest(self._writable().finish())
        self._store.publish(self._writable().folder, manifest)
        self.report.published = self._writable().folder.name

    def _manifest(self, counts: Counts) -> Manifest:
        self.report.files, self.report.chunks = counts.files, counts.chunks
        roots = []
        for root in self._roots.values():
            files, chunks = counts.by_root.get(root.name, (0, 0))
            commit, dirty = revision(root.path)
            roots.append(RootState(root.name, str(root.path), commit, dirty, files, chunks))
        self.report.roots = tuple(roots)
        return Manifest(
            regime=self._choice.regime,
            recipe=self._recipe,
            roots=tuple(roots),
            files=counts.files,
            chunks=counts.chunks,
            superseded_chunks=counts.superseded_chunks,
            slots=counts.slots,
            pending=len(self.report.failed),
            reference=self._base.manifest.reference if self._base else self._reference,
            report=self.report.lasting(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _counts_of(snapshot: Snapshot) -> Counts:
    m = snapshot.manifest
    by_root = {root.name: (root.files, root.chunks) for root in m.roots}
    return Counts(m.files, m.chunks, m.superseded_chunks, m.slots, by_root)
