"""Carries out a plan: embeds, replaces file by file, verifies, publishes.

All vectors of a file exist before the file is touched in the draft, and a draft is complete and
verified before anybody sees it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing

from local_rag.embedding.choice import EmbedderChoice
from local_rag.errors import EmbedderAway
from local_rag.index.manifest import Counts, Manifest, Remark
from local_rag.ingest.base_snapshot import BaseSnapshot
from local_rag.ingest.draft import Draft
from local_rag.ingest.embed import BaseVectors, PreparedFile, VectorResolver
from local_rag.ingest.embedder import CheckedEmbedder, check_embedder
from local_rag.ingest.embedding_cache import EmbeddingCache
from local_rag.ingest.loader import FilePreparer, RejectedFile
from local_rag.ingest.plan import Plan
from local_rag.ingest.recipe import manifest_of, says_the_same
from local_rag.ingest.report import Progress, Report
from local_rag.ingest.snapshot_writer import SnapshotWriter
from local_rag.settings import Settings
from local_rag.text.language import guess_language

log = logging.getLogger(__name__)


class SnapshotUpdate:
    """One run on a store that is locked. Call `make` or `preview` once, then close it."""

    def __init__(
        self,
        snapshots: SnapshotWriter,
        settings: Settings,
        choice: EmbedderChoice,
        base: BaseSnapshot,
        plan: Plan,
    ) -> None:
        self._snapshots, self._settings = snapshots, settings
        self._base, self._plan = base, plan
        self._embedder = CheckedEmbedder(choice)
        self._preparer = FilePreparer(settings, choice.sizing, choice.identity)
        self._draft: Draft | None = None
        self._report = Report(embedder=choice.identity.label, notices=list(choice.notices))
        self._report.note(plan)

    def make(self, progress: Progress) -> Report:
        """Does the work, and publishes the result if anything has changed."""
        choice, start = self._embedder.choice, self._plan.start
        with closing(EmbeddingCache(self._snapshots.store.cache)) as cache:
            try:
                if self._plan.todo or start is None:
                    if choice.embedder and choice.destination:
                        progress.notice(choice.destination)
                    self._embedder = check_embedder(choice, start, cache)
                self._report.vectors_unusable = self._embedder.choice.away
                with closing(self._base_vectors()) as stored:
                    resolver = self._resolver(cache, stored)
                    if self._plan.why_all:
                        notice = self._forecast(resolver)
                        progress.notice(notice)
                        self._report.notices.append(notice)
                    self._index(resolver, progress)
                self._publish_if_changed()
            finally:
                if self._draft:
                    self._draft.close()
                    if not self._report.published:
                        self._snapshots.discard(self._draft.folder)
                self._snapshots.prune()  # also removes a draft that failed while it was begun
            cache.prune()
        return self._report

    def preview(self) -> Report:
        """Says what `make` would do, and changes nothing."""
        self._report.vectors_unusable = self._embedder.choice.away
        self._report.notices += [self._plan.why_all] if self._plan.why_all else []
        self._report.deleted = len(self._plan.gone)
        with closing(self._base_vectors()) as stored:
            for file in self._accepted(self._preparer.prepare(self._plan.todo)):
                self._report.count(file.todo.change)
                keys = {key for _, key in file.chunks}
                self._report.embedded += len(keys - stored.known(list(keys)))
        return self._report

    def close(self) -> None:
        """Ends the process in which files were converted."""
        self._preparer.close()

    def _base_vectors(self) -> BaseVectors:
        usable = None if self._embedder.has_changed else self._base.snapshot
        return BaseVectors(usable, self._embedder.choice.identity)

    def _resolver(self, cache: EmbeddingCache, stored: BaseVectors) -> VectorResolver:
        choice = self._embedder.choice
        return VectorResolver(choice.embedder, choice.identity, cache, stored.lookup, choice.away)

    def _forecast(self, resolver: VectorResolver) -> str:
        """Says why all files are indexed again, and what of them must be embedded.

        Costs a pass over all files, as only their chunks tell. It happens after upgrades only.
        """
        why, identity = self._plan.why_all, self._embedder.choice.identity
        if not identity.dimension:
            return why
        files = self._preparer.prepare(self._plan.todo)
        work = resolver.survey(file for file in files if isinstance(file, PreparedFile))
        if not work.missing:
            return f"{why} Nothing has to be embedded again."
        what = f"{why} To embed: {work.missing} of {work.chunks} chunks"
        if resolver.away:
            return f"{what}. {resolver.away}"
        length = _duration(work.missing * work.seconds_each)
        return f"{what}, about {length}. Until then the old index is searched."

    def _index(self, resolver: VectorResolver, progress: Progress) -> None:
        progress.start(len(self._plan.todo))
        for record in self._plan.gone:
            self._writable().remove(record.number)
            self._report.deleted += 1
        files = self._accepted(self._preparer.prepare(self._plan.todo), dropping=True)
        rebuilding = self._plan.start is None and self._base.identity is not None
        for file in resolver.resolve(files) if self._embedder.choice.identity.dimension else files:
            if file.failure and resolver.away and rebuilding:
                what = f"The rebuild stopped: {resolver.away} The index is as it was."
                raise EmbedderAway(what, "Run it again; what is embedded is kept.")
            self._replace(file)
            progress.advance(resolver.embedded)
        self._report.embedded = resolver.embedded
        self._report.vectors_unusable = resolver.away

    def _accepted(
        self, files: Iterable[PreparedFile | RejectedFile], *, dropping: bool = False
    ) -> Iterator[PreparedFile]:
        """The files that can be indexed. Reports on the others, and takes them out of the index."""
        for file in files:
            if isinstance(file, PreparedFile):
                self._report.note_document(file.version, file.document)
                yield file
                continue
            self._report.skipped.append(file.skipped)
            if file.read and file.todo.old:
                self._report.deleted += 1
                if dropping:
                    self._writable().remove(file.todo.old.number)

    def _replace(self, file: PreparedFile) -> None:
        old, document = file.todo.old, file.document
        if file.failure:
            self._report.failed.append(Remark(file.version.root, file.version.path, file.failure))
            if old and old.lifecycle != document.lifecycle:  # retiring never waits
                self._writable().set_lifecycle(
                    old.number, document.lifecycle, document.superseded_by
                )
            return
        if old:
            self._writable().remove(old.number)
        language = guess_language(document.text, self._settings.languages)
        self._writable().add(file.version, document, file.chunks, file.ordered_vectors, language)
        self._report.count(file.todo.change)
        log.debug("indexed %d files", self._report.indexed)

    def _writable(self) -> Draft:
        if self._draft is None:
            identity = self._embedder.choice.identity
            self._draft = Draft.begin(self._snapshots, identity, self._plan.start)
        return self._draft

    def _publish_if_changed(self) -> None:
        start = self._plan.start
        if self._draft is None and start and not self._base.damage:
            manifest = self._manifest(start.manifest.counts)
            if says_the_same(manifest, start.manifest):
                return
        manifest = self._manifest(self._writable().finish())
        self._snapshots.publish(self._writable().folder, manifest)
        self._report.published = self._writable().folder.name

    def _manifest(self, counts: Counts) -> Manifest:
        start = self._plan.start
        return manifest_of(
            self._embedder.choice.identity,
            self._settings,
            counts,
            self._report,
            reference=start.manifest.reference if start else self._embedder.reference,
        )


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(1, seconds):.0f} s"
