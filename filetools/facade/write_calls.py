"""The calls that change the content of files: write, append, edit, patch, copy, and batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from filetools.changes.deciding.files import (
    AnsweredPut,
    TextChange,
    decide_as_allowed,
    decide_as_asked,
    decide_copy,
)
from filetools.changes.deciding.outcomes import edit_result, number_of, write_result
from filetools.changes.deciding.proposals import Act, reported_proposal
from filetools.changes.requests import chosen_edits
from filetools.changes.steps import unsaved
from filetools.changes.steps.files import Decide, PutFile
from filetools.changes.steps.pipeline import Outcome, try_steps
from filetools.changes.writing import (
    DecideWrite,
    NewlineChoice,
    OnStale,
    WriteRequest,
    decide_append,
    decide_create,
    decide_write,
)
from filetools.content.editing.edits import Edit, apply_edits, edited_bytes, insert_lines
from filetools.errors import (
    ApprovalDeniedError,
    ChangedMeanwhileError,
    require_within,
)
from filetools.facade.calls import MOST_QUESTIONS, ActorCalls
from filetools.facade.progress import Abort, Progress, progress_reporter
from filetools.facade.transactions import batches
from filetools.facade.transactions.patching import PatchCall
from filetools.models.files import BatchResult, EditResult, PatchResult, WriteResult
from filetools.models.records import EXTERNAL
from filetools.models.words import OnConflict
from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.audience import Case
from filetools.permissions.gatekeeper import Permit
from filetools.permissions.requests import Proposal

IS_DIRTY: Final = "editor:is_dirty"
"""Query {path} for editors that do not use `buffers`: they answer true, or {text}, if they have unsaved changes."""
_REFUSED: Final = "and a person refused to replace them"


class WriteCalls(ActorCalls):
    """Calls that change the content of files."""

    async def write_file(
        self,
        path: AnyPath,
        content: str | bytes,
        *,
        expected_version: str | None = None,
        encoding: str | None = None,
        newline: NewlineChoice | None = None,
        create_parents: bool = True,
        on_stale: OnStale | None = None,
        on_conflict: OnConflict | None = None,
        require_read: bool = False,
        lock_timeout_seconds: float | None = None,
    ) -> WriteResult:
        """Create or replace a file atomically, keeping mode, owner, attributes, encoding and byte-order mark.

        If others have changed the file since this actor read or wrote it, both changes are merged; only overlapping
        changes are refused. The base of the merge is the text that this actor last saw.

        Args:
            path: Workspace-relative path.
            content: Text, or bytes.
            expected_version: The version that the content is based on. If the file is at this version and the actor has seen
                its text, the file is replaced; if a result only named the version, the changes of others are merged. If the
                file is at another version, the write is refused, even with equal bytes, unless `on_stale` allows it.
            encoding: Codec for the text, or "base64"; None keeps the file's own, UTF-8 for new files.
            newline: "exact" writes line ends as given; None keeps CRLF in a file that has no other. "keep" also keeps the
                line ends of a file that has CR or several kinds; a new line gets its neighbour's.
            create_parents: Create missing folders.
            on_stale: If the file is not at `expected_version`: None and "refuse" refuse; "merge" merges the changes since, if
                the path is known to have had that version.
            on_conflict: If an editor has unsaved text of the file: "merge" merges with it, "cancel" refuses, "allow"
                replaces it, "ask" asks a person, "merge_or_ask" asks only if it cannot be merged, and "ask_if_attended" only
                if a person is also present. "merge" never writes unsaved text to the file. None as in `for_actor`, by
                default "merge".
            require_read: Without `expected_version`, refuse to replace a file that this actor has not read or written as a
                whole.
            lock_timeout_seconds: Longest wait for the turn; by default as in the settings.

        Raises:
            EditConflictError: Changes of others overlap with this text; both sides are in the details.
            VersionMismatchError, EncodingError, FileTooLargeError, PathIsDirectoryError, DirectoryNotFoundError,
            SyncFailedError
        """
        request = WriteRequest(
            content=content, encoding=encoding, newline=newline, expected_version=expected_version,
            create_parents=create_parents, on_stale=on_stale, on_conflict=on_conflict or self._on_conflict,
            require_read=require_read, require_version=self._require_version,
        )  # fmt: skip
        return await self._put("write_file", path, request, decide_write, lock_timeout_seconds)

    async def create_file(
        self, path: AnyPath, content: str | bytes = "", *, encoding: str | None = None
    ) -> WriteResult:
        """Create a file; raises PathExistsError if the path exists. Otherwise as `write_file`."""
        request = WriteRequest(content=content, encoding=encoding)
        return await self._put("create_file", path, request, decide_create, None)

    async def append_file(
        self, path: AnyPath, content: str | bytes, *, expected_version: str | None = None, encoding: str | None = None
    ) -> WriteResult:
        """Append to a file, creating it if missing. Otherwise as `write_file`."""
        request = WriteRequest(content=content, encoding=encoding, expected_version=expected_version)
        return await self._put("append_file", path, request, decide_append, None)

    async def edit_file(
        self,
        path: AnyPath,
        edits: Sequence[Edit] | None = None,
        *,
        old: str | None = None,
        new: str | None = None,
        replace_all: bool = False,
        expected_version: str | None = None,
        dry_run: bool = False,
        context_lines: int = 3,
    ) -> EditResult:
        """Replace exact texts in a file, all or nothing; bytes outside the edited spans do not change.

        The edits are applied in order to the current text, in one turn. LF in an edit also matches CRLF in the file, and
        new lines take the line end of their neighbours.

        Args:
            path: Workspace-relative path.
            edits: The edits; each must match as often as it specifies. For a single one give `old` and `new` instead.
            old: The text to replace, which must occur once.
            new: The text that replaces it.
            replace_all: Replace every occurrence of `old`.
            expected_version: Refuse unless the file is at this version.
            dry_run: Only report what would change.
            context_lines: Unchanged lines around each change in `structured_patch`.

        Raises:
            EditNotFoundError: Contains the closest region and how it differs.
            EditAmbiguousError: Contains the line of every match.
            PathNotFoundError, VersionMismatchError, EncodingError, InvalidArgumentError
        """
        edits = chosen_edits(edits, old, new, replace_all=replace_all)
        where = self._runner.resolve(path)
        require_within("context_lines", context_lines, 0)
        apply = partial(edited_bytes, edit=partial(apply_edits, edits=edits, path=where), path=where)
        change = TextChange(
            path=where, apply=apply, actor=self.actor, expected_version=expected_version, context_lines=context_lines,
        )  # fmt: skip
        arguments = {"edits": [[edit.old, edit.new, edit.count, edit.replace_all] for edit in edits]}
        return await self._change_text("edit_file", change, arguments, dry_run=dry_run)

    async def insert_lines(
        self, path: AnyPath, line: int, text: str, *, expected_version: str | None = None, dry_run: bool = False
    ) -> EditResult:
        """Insert text after a line; 0 inserts before the first. Otherwise as `edit_file`."""
        where = self._runner.resolve(path)
        apply = partial(edited_bytes, edit=partial(insert_lines, line=line, new_text=text), path=where)
        change = TextChange(path=where, apply=apply, actor=self.actor, expected_version=expected_version)
        return await self._change_text("insert_lines", change, {"line": line, "text": text}, dry_run=dry_run)

    async def apply_patch(self, patch: str, *, dry_run: bool = False) -> PatchResult:
        """Apply a patch of any number of files, all or nothing: in Codex's format, or a unified diff.

        Args:
            patch: `*** Begin Patch` … `*** End Patch`, or a diff with git's extended headers. Bytes that are not UTF-8
                are given as surrogate escapes, as by `os.fsdecode`.
            dry_run: Only report what would change.

        Raises:
            InvalidArgumentError: The patch is malformed or names a file twice.
            EditNotFoundError, EditAmbiguousError: A hunk does not fit; nothing was changed.
            PathNotFoundError, PathExistsError, EncodingError
        """
        call = PatchCall(self._runner, self.actor, patch)
        if dry_run:
            await self._authorise("apply_patch", call.paths, {}, change=False)
            await self._parts.workers.run(partial(try_steps, self._parts, call.steps))
            return call.result(None)
        shown = {"patch": patch.encode("utf-8", "backslashreplace").decode()}
        allowed = await self._authorise_steps("apply_patch", call.paths, shown, call.steps, deleted=call.deleted)
        return call.result(await self._runner.change(call.steps, self.actor, permits=[allowed]))

    async def copy_file(self, source: AnyPath, destination: AnyPath, *, overwrite: bool = False) -> WriteResult:
        """Copy a file's bytes and mode; a destination that ends in "/" is a folder to copy it into.

        Raises:
            PathNotFoundError: The source does not exist.
            PathExistsError: The destination exists and `overwrite` is False.
        """
        origin = self._runner.resolve(source)
        where = self._runner.resolve_new(destination, source=origin)
        await self._authorise("read_file", [origin], {}, change=False)
        arguments = {"source": origin, "overwrite": overwrite}
        step = PutFile(where, partial(decide_copy, source=origin, actor=self.actor, overwrite=overwrite))
        allowed = await self._authorise("copy_file", [where], arguments, change=True, steps=[step])
        return write_result(step, await self._runner.change([step], self.actor, permits=[allowed]))

    async def write_multiple(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        abort: Abort | None = None,
        progress: Progress | None = None,
    ) -> BatchResult:
        """Write several files, all or nothing. Each item holds `path`, `content` and options of `write_file`.

        Raises:
            BatchFailedError: One was refused; names the file and the cause. Nothing was changed.
        """
        items = [{**item, "path": plain_path(item["path"])} if "path" in item else item for item in items]
        steps = batches.write_steps(self._runner, items, self.actor, require_version=self._require_version)
        paths = [step.path for step in steps]
        authorise = self._authorise("write_multiple", paths, {"items": items}, change=True, steps=steps)
        return await batches.run(self._runner, steps, self.actor, progress_reporter(abort, progress), authorise)

    async def _put(
        self,
        tool: str,
        path: AnyPath,
        request: WriteRequest,
        decide: DecideWrite,
        lock_timeout_seconds: float | None,
    ) -> WriteResult:
        where = self._runner.resolve_new(path)
        step, outcome = await self._decided(
            tool, where, {"content": request.content, "encoding": request.encoding}, request.on_conflict,
            partial(decide_as_asked, decide=decide, request=request, actor=self.actor),
            create_parents=request.create_parents, timeout_seconds=lock_timeout_seconds,
        )  # fmt: skip
        return write_result(step, outcome)

    async def _change_text(
        self, tool: str, change: TextChange, arguments: Mapping[str, Any], *, dry_run: bool
    ) -> EditResult:
        if dry_run:
            await self._authorise(tool, [change.path], {}, change=False)
            step = PutFile(change.path, change.decide)
            await self._parts.workers.run(partial(try_steps, self._parts, [step]))
            return edit_result(step.seen, step.decision)
        change = replace(change, on_conflict=self._on_conflict)
        step, outcome = await self._decided(tool, change.path, arguments, change.on_conflict, change.decide)
        return edit_result(step.seen, step.decision, outcome, number_of(step))

    async def _decided(
        self,
        tool: str,
        where: WorkspacePath,
        arguments: Mapping[str, Any],
        on_conflict: OnConflict,
        decide: Decide,
        *,
        create_parents: bool = False,
        timeout_seconds: float | None = None,
    ) -> tuple[PutFile, Outcome]:
        """Write one file, asking a person about unsaved text if `on_conflict` says so.

        Raises:
            EditConflictError: There is unsaved text that can neither be merged nor replaced.
            ChangedMeanwhileError: The unsaved text kept changing while a person was asked.
        """
        put = partial(PutFile, where, create_parents=create_parents)
        step = put(decide)
        permit = await self._authorise(tool, [where], arguments, change=True, steps=[step], is_text=True)
        if permit is not None:
            step = put(decide_as_allowed(permit, decide, self.actor))
        is_whole = "content" in arguments
        await self._ask_editors(tool, where, arguments.get("content", ""), on_conflict if is_whole else "merge")
        for _ in range(MOST_QUESTIONS):
            # An `AnsweredPut` itself checks that the file is what the person saw.
            permits = [] if isinstance(step.wanted, AnsweredPut) else [permit]
            change = self._runner.change([step], self.actor, lock_timeout_seconds=timeout_seconds, permits=permits)
            try:
                return step, await change
            except unsaved.UnsavedQuestion as question:
                overlap = question.__cause__
                if (
                    on_conflict == "ask_if_attended"
                    and overlap is not None
                    and not await self._parts.gatekeeper.approvals.is_attended()
                ):
                    raise overlap from None
                act = Act(tool=tool, paths=[where], arguments=arguments, actor=self.actor, steps=[step], is_text=True)
                proposal = await self._parts.workers.run(partial(act.propose, self._parts))
                if proposal.replacing_unsaved is not None:  # else the text was saved meanwhile
                    text = await self._ask_about(tool, where, proposal, question.opened.document.version)
                    answered = Permit(proposal=proposal, edited_text=text)
                    step = put(decide_as_allowed(answered, decide, self.actor))
        raise ChangedMeanwhileError(where, MOST_QUESTIONS)

    async def _ask_editors(
        self, tool: str, where: WorkspacePath, content: str | bytes, on_conflict: OnConflict
    ) -> None:
        """Ask editors that do not use `buffers` for unsaved changes, which cannot be merged.

        Raises:
            EditConflictError: There are some, and neither the call nor a person allows replacing them.
        """
        if self._parts.documents.known.is_dirty(self._parts.workspace.key(where)):
            return
        answer = await self._parts.bus.query(IS_DIRTY, {"path": where})
        if not answer:
            return
        text = answer.get("text") if isinstance(answer, Mapping) else None
        attended = on_conflict == "ask_if_attended" and await self._parts.gatekeeper.approvals.is_attended()
        if attended or on_conflict in ("ask", "merge_or_ask"):
            texts = (each if isinstance(each, str) else "" for each in (text, content))
            proposal = await self._parts.workers.run(partial(reported_proposal, tool, where, *texts))
            if await self._ask_about(tool, where, proposal, None) is not None:
                raise unsaved.unsaved_error(where, None, _REFUSED)
        elif on_conflict != "allow":
            raise unsaved.unsaved_error(where, None, is_cancelled=on_conflict == "cancel")
        if isinstance(text, str):
            key, kept = self._parts.workspace.key(where), text.encode("utf-8", "surrogatepass")
            keep = partial(self._parts.journal.keep_aside, where, key, kept, EXTERNAL)
            await self._parts.workers.run(keep)

    async def _ask_about(
        self, tool: str, path: WorkspacePath, proposal: Proposal, buffer_version: int | None
    ) -> str | None:
        """Ask a person whether a text may replace unsaved text. Other calls can take their turns meanwhile.

        Args:
            tool: Name of the tool.
            path: The document's path.
            proposal: What the person is shown; the answer is valid only for that.
            buffer_version: Version of the document, if it is known.

        Returns:
            The whole text that they gave instead; None for the call's own.

        Raises:
            EditConflictError: They declined.
            ApprovalRequiredError: Nobody is present to answer, or nobody did in time; the request stays open.
        """
        case = Case(tool=tool, path=path, paths=(path,), actor=self.actor, reason="conflict", proposal=proposal)
        decision = None
        while decision is None:  # None if an identical call has consumed the answer
            try:
                decision = await self._parts.gatekeeper.approvals.ask(case)
            except ApprovalDeniedError:
                raise unsaved.unsaved_error(path, buffer_version, _REFUSED) from None
        return decision.edited_text
