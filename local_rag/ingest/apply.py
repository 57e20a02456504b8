"""What a plan asks for, done: embed, replace file by file, verify, publish.

Each file's vectors are complete before the file is touched in the draft, and a draft is complete
and checked before anybody sees it. Leaves out when there is anything to change (`pipeline`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from local_rag.chunking.chunks import chunk_document
from local_rag.corpus.scan import Scan, read_version
from local_rag.corpus.skipped import SkippedFile
from local_rag.documents.document import hiding_is_undecided, parse_document
from local_rag.documents.formats.registry import TEXT, format_of
from local_rag.embedding.canary import CANARY, SAME_EMBEDDER, canary_vector, similarity
from local_rag.embedding.choice import EmbedderChoice, choose_for_existing, choose_for_new
from local_rag.errors import EmbedderAway, TextRejected
from local_rag.index.manifest import Counts, Manifest, Remark
from local_rag.ingest.base_snapshot import BaseSnapshot
from local_rag.ingest.draft import Draft
from local_rag.ingest.embed import BaseVectors, PreparedFile, VectorResolver, keyed
from local_rag.ingest.embedding_cache import EmbeddingCache
from local_rag.ingest.loader import DocumentLoader
from local_rag.ingest.plan import Plan, PlannedFile, plan_from
from local_rag.ingest.recipe import manifest_of, recipe_of, says_the_same
from local_rag.ingest.report import Report
from local_rag.ingest.snapshot_writer import SnapshotWriter
from local_rag.settings import Settings
from local_rag.text.encoding import NotText
from local_rag.text.language import guess_language

if TYPE_CHECKING:
    from local_rag.ingest.report import Options, Progress

log = logging.getLogger(__name__)
DRIFTED = "The embedder's vectors no longer match this index. Run ingest.py --rebuild."


def choose_embedder(
    settings: Settings, live: BaseSnapshot, on_disk: Scan, *, rebuild: bool
) -> EmbedderChoice:
    """The embedder of a run. Raises `EmbedderAway` or `EmbedderChanged`."""
    if live.identity and not rebuild:
        return choose_for_existing(settings, live.identity)
    return choose_for_new(settings, lambda: is_english(on_disk, settings), live.identity)


class SnapshotUpdate:
    """One run into a store, which is locked. Call `make` or `preview` once, then close it."""

    def __init__(
        self,
        snapshots: SnapshotWriter,
        settings: Settings,
        choice: EmbedderChoice,
        live: BaseSnapshot,
        options: Options,
    ) -> None:
        self._snapshots, self._settings, self._choice = snapshots, settings, choice
        self._live, self._damage = live.snapshot, live.damage
        self._roots = {root.name: root for root in settings.roots}
        # A rebuild starts from nothing, while what it replaces goes on serving readers.
        self._base = None if options.anew else live.snapshot
        self._indexed = live.files if self._base else ()
        self._draft: Draft | None = None
        self._reference: tuple[float, ...] = ()
        self._dry_run = options.dry_run
        self._intake = DocumentLoader(settings.max_file_bytes, settings.secrets)
        self._rebuilding = self._base is None and live.identity is not None
        self.report = Report(
            embedder=choice.identity.label,
            notices=list(choice.notices),
            vectors_unusable=choice.away,
        )

    def make(self, on_disk: Scan, progress: Progress) -> Report:
        """Does the work and publishes it, if there is any."""
        plan = self._plan(on_disk)
        progress.start(len(plan.todo))
        with closing(EmbeddingCache(self._snapshots.store.cache)) as cache:
            try:
                if plan.todo or not self._base:
                    self._expect_likeness(cache)
                self._index(plan, cache, progress)
                self._publish_if_changed()
            finally:
                if self._draft:
                    self._draft.close()
                    if not self.report.published:
                        self._snapshots.discard(self._draft.folder)
                self._snapshots.prune()  # also of a draft that could not even be begun
            cache.prune()
        return self.report

    def close(self) -> None:
        """Ends the process in which files were converted."""
        self._intake.close()

    def preview(self, on_disk: Scan) -> Report:
        """Says what `make` would do, and changes nothing."""
        plan = self._plan(on_disk)
        self.report.deleted = len(plan.gone)
        live = BaseVectors(self._live, self._choice.identity)
        with closing(live):
            for file in self._prepared(plan.todo):
                self.report.count(file.todo.change)
                known = live.known([key for _, key in file.chunks])
                self.report.embedded += len({key for _, key in file.chunks} - known)
        return self.report

    def _plan(self, on_disk: Scan) -> Plan:
        base = self._base.manifest if self._base else None
        recipe = recipe_of(self._choice.identity.kind, self._settings)
        plan = plan_from(base, self._indexed, on_disk, recipe)
        self.report.note(plan)
        return plan

    def _expect_likeness(self, cache: EmbeddingCache) -> None:
        """Looks whether the embedder embeds as it did, so that no index mixes two kinds."""
        if self._choice.embedder is None:
            return
        try:
            now = canary_vector(self._choice.embedder)
        except (EmbedderAway, TextRejected) as error:
            self._lose_embedder(str(error))
            return
        key = CANARY.key(self._choice.identity)
        then = self._base.manifest.reference if self._base else cache.get([key]).get(key)
        if then is not None and len(then) and similarity(now, then) < SAME_EMBEDDER:
            if self._base:
                self._lose_embedder(DRIFTED)
                return
            log.warning("the embedder has changed: what it embedded before is put away")
            cache.clear()
            self._live = None
        cache.put({key: now})
        self._reference = tuple(float(x) for x in now)

    def _lose_embedder(self, why: str) -> None:
        self._choice = replace(self._choice, embedder=None, away=why)
        self.report.vectors_unusable = why

    def _index(self, plan: Plan, cache: EmbeddingCache, progress: Progress) -> None:
        for record in plan.gone:
            self._writable().remove(record.number)
            self.report.deleted += 1
        identity = self._choice.identity
        with closing(BaseVectors(self._live, identity)) as live:
            resolver = VectorResolver(
                self._choice.embedder, identity, cache, live.lookup, self._choice.away
            )
            files = self._prepared(plan.todo)
            for file in resolver.resolve(files) if identity.dimension else files:
                self.report.embedded = resolver.embedded
                if file.failure and resolver.away and self._rebuilding:
                    what = f"The rebuild stopped: {resolver.away} The index is as it was."
                    raise EmbedderAway(what, "Run it again; what is embedded is kept.")
                self._replace(file)
                progress.advance(resolver.embedded)
            self.report.embedded = resolver.embedded

    def _prepared(self, todos: Sequence[PlannedFile]) -> Iterator[PreparedFile]:
        """The files that are to be indexed, read again and cut into chunks."""
        sizing, identity = self._choice.sizing, self._choice.identity
        for todo in todos:
            root = self._roots[todo.version.root]
            read = read_version(root, todo.version, self._settings.max_file_bytes)
            if isinstance(read, SkippedFile):
                self.report.skipped.append(read)
                continue
            version, content = read
            document = self._intake.read(version, content.data)
            if isinstance(document, SkippedFile):
                self.report.skipped.append(document)
                self._drop(todo)
                continue
            if document.warnings and hiding_is_undecided(document.metadata):
                self.report.undecided.append(f"{version.root}:{version.path}")
            for text in document.warnings:
                self.report.warnings.append(Remark(version.root, version.path, text))
            chunks = chunk_document(document, sizing.budget, sizing.token_starts)
            yield PreparedFile(todo, version, document, keyed(document, chunks, identity))

    def _drop(self, todo: PlannedFile) -> None:
        """A file that was indexed and now is none: `rag: false`, or no text any more."""
        if todo.old:
            self.report.deleted += 1
            if not self._dry_run:
                self._writable().remove(todo.old.number)

    def _replace(self, file: PreparedFile) -> None:
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
        self.report.count(file.todo.change)
        log.debug("indexed %d files", self.report.indexed)

    def _writable(self) -> Draft:
        if self._draft is None:
            self._draft = Draft.begin(self._snapshots, self._choice.identity, self._base)
        return self._draft

    def _publish_if_changed(self) -> None:
        if self._draft is None and self._base and not self._damage:
            manifest = self._manifest(self._base.manifest.counts)
            if says_the_same(manifest, self._base.manifest):
                return
        manifest = self._manifest(self._writable().finish())
        self._snapshots.publish(self._writable().folder, manifest)
        self.report.published = self._writable().folder.name

    def _manifest(self, counts: Counts) -> Manifest:
        reference = self._base.manifest.reference if self._base else self._reference
        return manifest_of(
            self._choice.identity, self._settings, counts, self.report, reference=reference
        )


LANGUAGE_SAMPLE = 50  # files


def is_english(on_disk: Scan, settings: Settings) -> bool:
    """Whether at least half of the sample is in English, or in nothing that can be told."""
    roots = {root.name: root for root in settings.roots}
    texts = [v for v in on_disk.versions if not (format_of(v.path) or TEXT).module]
    guesses = []
    for version in islice(texts, 0, None, max(1, len(texts) // LANGUAGE_SAMPLE)):
        read = read_version(roots[version.root], version, settings.max_file_bytes)
        with suppress(NotText):
            if not isinstance(read, SkippedFile):
                guesses.append(guess_language(parse_document(read[1].data).text))
    return sum(guess in ("en", "") for guess in guesses) * 2 >= len(guesses)
