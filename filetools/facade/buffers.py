"""The calls of editors: open, change, save and close documents. All editors and agents see the same text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import filetools.events as events
from filetools.changes.deciding.outcomes import write_result
from filetools.changes.documents.files import MOST_TRIES, DocumentSave, follow_disk, keep_and_close, text_to_open
from filetools.changes.runner import READER_WAIT_SECONDS
from filetools.changes.steps.files import PutFile
from filetools.changes.steps.pipeline import Outcome
from filetools.content.editing.text_edits import TextEdit
from filetools.content.formats import TextFormat, format_named
from filetools.content.lines import newline_of
from filetools.content.wire import wire_text
from filetools.editors.documents import OpenText
from filetools.errors import BufferClosedError, ChangedMeanwhileError, LockTimeoutError
from filetools.facade.calls import ActorCalls
from filetools.journal.documents import Document
from filetools.models.buffers import BufferChange, BufferClose, BufferResult, BufferSave
from filetools.models.words import OnConflict
from filetools.paths.lexical import AnyPath
from filetools.paths.workspace_path import WorkspacePath


class Buffers(ActorCalls):
    """The open documents of one editor; `files.buffers`.

    A path has one document, however many editors and processes have it open. Texts use LF line ends and offsets count
    UTF-16 units, as in JavaScript; the file's own line ends, encoding and byte-order mark are restored on save. A handle
    lapses 60 s after the last call with it; text that is unsaved then is kept as a version of the path. Only the handle's own
    actor can change, save or close with it.
    """

    async def open(self, path: AnyPath) -> BufferResult:
        """Open the document of a path, or join its other editors. The file need not exist yet.

        Waits up to 2 s while the file is being written; after that it opens the current text, and follows the write.

        Raises:
            InvalidArgumentError: The file is binary.
            PathIsDirectoryError, FileTooLargeError, and those of every call; see `FileToolsFacade`.
        """
        where = self._runner.resolve_new(path)
        await self._authorise("read_file", [where], {}, change=False)
        # Otherwise old text that was put back while no process ran would be taken for an older head, and replaced.
        await self._runner.observe(where)
        work = partial(self._open, where)
        try:
            # A write in progress may still be refused.
            opened = await self._runner.turns.do(
                work, path=where, owner=self.actor.id, timeout_seconds=READER_WAIT_SECONDS
            )
        except LockTimeoutError:
            opened = await self._parts.workers.run(work)  # it follows the write when that is done
        await self._runner.news.publish()
        return opened

    async def read(self, handle: str) -> BufferResult:
        """Return the newest text of a document, for an editor that is out of sync; renews the lease.

        Raises:
            BufferClosedError
        """
        return await self._parts.workers.run(lambda: self._describe(handle, self._parts.documents.held(handle)))

    async def change(
        self,
        handle: str,
        *,
        buffer_version: int,
        edits: Sequence[TextEdit] | None = None,
        text: str | None = None,
        change_id: str | None = None,
    ) -> BufferChange:
        """Apply an editor's edits to the document, rebased on what others have typed meanwhile.

        Args:
            handle: As returned by `open`.
            buffer_version: Version of the text that the edits apply to.
            edits: Edits of that text, in any order, not overlapping.
            text: The whole new text instead; only the differences count as edits.
            change_id: A name for this change, 1 to 64 visible ASCII characters, for retries after a lost response. While
                the change is among the document's last 1,000 steps, a retry is answered again but not applied again.

        Returns:
            The new version, and the edits of others since `buffer_version`, to apply to the editor's own text.

        Raises:
            BufferClosedError: The handle has lapsed or was closed.
            ResyncRequiredError: The version is too old; read the document again.
            InvalidArgumentError: The edits do not fit that version.
        """
        self._runner.check_open()
        self._parts.gatekeeper.check_writable()
        if self.actor.kind == "agent":  # permission presets apply to agents, not to people's typing
            opened = await self._parts.workers.run(partial(self._parts.documents.held, handle, self.actor))
            where = self._runner.resolve(opened.document.path)
            arguments = {"handle": handle, "buffer_version": buffer_version, "edits": repr(edits), "text": text}
            preview = partial(
                self._parts.documents.preview, opened, buffer_version=buffer_version, edits=edits, text=text
            )
            await self._authorise("buffer_change", [where], arguments, change=True, text=preview)
        work = partial(
            self._parts.documents.change, handle, self.actor, buffer_version,
            edits=edits, text=text, change_id=change_id,
        )  # fmt: skip
        made: BufferChange = await self._parts.workers.run(work)
        await self._runner.news.publish()
        return made

    async def since(self, handle: str, buffer_version: int) -> BufferChange:
        """Return the edits of a document since a version, for an editor that reconnects; renews the lease.

        Returns:
            The newest version, and the edits that lead to it from the text at `buffer_version`.

        Raises:
            BufferClosedError: The handle has lapsed or was closed.
            ResyncRequiredError: The version is too old.
            InvalidArgumentError: The document has no such version.
        """
        return await self._parts.workers.run(partial(self._since, handle, buffer_version))

    async def save(
        self,
        handle: str,
        *,
        buffer_version: int | None = None,
        on_conflict: OnConflict = "merge",
        encoding: str | None = None,
    ) -> BufferSave:
        """Write the document to its file, as any write. What others wrote to the file meanwhile is merged in.

        Args:
            handle: As returned by `open`.
            buffer_version: Version that the editor has; the result then contains the edits of others since.
            on_conflict: If the file has changed in the same places: "merge" and "cancel" refuse, "allow" replaces it and
                keeps the replaced text as a version.
            encoding: Codec to store the file in from now on; None keeps its own.

        Raises:
            BufferClosedError, ResyncRequiredError
            InvalidArgumentError: The encoding is unknown.
            EditConflictError: The file has changed in the same places; both sides are in the details.
            EncodingError: The file's encoding lacks a character of the text.
        """
        text_format = None if encoding is None else format_named(encoding)
        step, outcome = await self._save(handle, on_conflict, text_format)
        await self._runner.news.publish()
        after = await self._parts.workers.run(partial(self._since, handle, buffer_version))
        return BufferSave(
            path=step.path,
            version=step.decision.facts.version,
            buffer_version=after.buffer_version,
            dirty=after.dirty,
            edits=after.edits,
            **write_result(step, outcome).model_dump(
                include={"created", "replaced_version", "unchanged", "merged", "number", "mirror", "warnings"}
            ),
        )

    async def renew(self, handle: str) -> None:
        """Keep a handle for another 60 s.

        Raises:
            BufferClosedError
        """
        await self.read(handle)

    async def close(self, handle: str) -> BufferClose:
        """Close a handle. If it was the last one of the document, unsaved text is kept as a version of the path.

        Raises:
            BufferClosedError
        """
        self._runner.check_open()
        closed, kept = await self._parts.workers.run(partial(self._close, handle))
        if kept is not None:
            event = events.BufferAbandoned(path=closed.path, document=closed.id, actor=self.actor, kept_version=kept)
            self._parts.bus.publish(event)
        await self._runner.news.publish()
        return BufferClose(path=closed.path, kept_version=kept)

    async def _save(
        self, handle: str, on_conflict: OnConflict, text_format: TextFormat | None
    ) -> tuple[PutFile, Outcome]:
        for _ in range(MOST_TRIES):
            opened = await self._parts.workers.run(partial(self._parts.documents.held, handle, self.actor))
            where = self._runner.resolve(opened.document.path)
            arguments, text = {"content": opened.text}, partial(self._newest, opened)
            permit = await self._authorise("write_file", [where], arguments, change=True, text=text, looks_at_disk=True)
            step = PutFile(where, DocumentSave(opened.document.id, on_conflict, self.actor, text_format))
            try:
                return step, await self._runner.change([step], self.actor, permits=[permit])
            except BufferClosedError:
                continue  # the file has moved meanwhile; a closed handle is refused by `held` above
        raise ChangedMeanwhileError(where, MOST_TRIES)

    def _newest(self, opened: OpenText) -> str:
        """Return the text to be approved: what a save would write now, without what only its own editor typed since."""
        documents = self._parts.documents
        newest = documents.newest(opened.document.id) or opened
        return opened.text if documents.is_typed_by(self.actor, newest, opened.document.version) else newest.text

    def _open(self, where: WorkspacePath) -> BufferResult:
        parts = self._parts
        key = parts.workspace.key(where)
        base, text_format, text = text_to_open(parts, where)
        if base is not None and parts.view(key).head is None and parts.observer.may_be_old(where):
            # Record the version, so that a later foreign change of the file is recognised.
            parts.journal.tree_index.note_opened(key, where, base)
        handle, opened = parts.documents.open(key, where, self.actor, base=base, text_format=text_format, text=text)
        follow_disk(parts, opened.document)
        return self._describe(handle.name, parts.documents.held(handle.name, self.actor))

    def _close(self, name: str) -> tuple[Document, str | None]:
        document = self._parts.documents.held(name, self.actor).document
        self._parts.journal.documents.release(name)
        return document, keep_and_close(self._parts, document)

    def _since(self, handle: str, buffer_version: int | None) -> BufferChange:
        opened = self._parts.documents.held(handle)
        others = [] if buffer_version is None else self._parts.documents.since(opened, buffer_version)
        document = opened.document
        return BufferChange(buffer_version=document.version, dirty=document.is_dirty, edits=others)

    def _describe(self, name: str, opened: OpenText) -> BufferResult:
        document = opened.document
        stat = self._parts.store.stat(WorkspacePath(document.path))
        head = self._parts.view(document.key).head
        disk = document.base if head is None else head.version
        return BufferResult(
            handle=name,
            document=document.id,
            path=document.path,
            text=wire_text(opened.text),
            buffer_version=document.version,
            version=opened.version,
            disk_version=None if stat is None else disk,
            dirty=document.is_dirty,
            behind=stat is not None and disk != document.base,
            encoding=document.text_format.encoding,
            bom=bool(document.text_format.bom),
            newline=newline_of(opened.text),
        )
