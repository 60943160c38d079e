"""Writes that meet unsaved text: editors are asked whether they have any, and people what shall become of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from filetools.errors import ChangedMeanwhileError
from filetools.facade.aside import keep_aside
from filetools.facade.calls import MOST_QUESTIONS, ActorCalls
from filetools.facade.preconditions import record_steps
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import unsaved
from filetools.facade.steps.put import PutFile
from filetools.facade.way import Outcome
from filetools.facade.writing import DecideWrite, put_step
from filetools.models.words import OnConflict
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import Settled

IS_DIRTY: Final = "editor:is_dirty"
"""Query that an editor answers which does not open documents here: {path}, true or {text} if it has unsaved changes."""


class ConflictCalls(ActorCalls):
    """What writes do about text that an editor has not saved; a base of the facade."""

    async def _write(
        self, tool: str, where: WorkspacePath, request: WriteRequest, decide: DecideWrite, timeout: float | None
    ) -> tuple[PutFile, Outcome]:
        """Lead one file's new bytes the way of a write; a person decides about unsaved text where the request says so.

        Raises:
            EditConflictError: There is unsaved text, and it is in the way.
            ChangedMeanwhileError: It kept changing while a person was asked.
        """
        await self._ask_editors(tool, where, request)
        for _ in range(MOST_QUESTIONS):
            step = put_step(where, request, self.actor, decide)
            happened = partial(record_steps, self._parts, self.actor, [step])
            change = self._runner.change([step], self.actor, lock_timeout_seconds=timeout, happened=happened)
            try:
                return step, await change
            except unsaved.UnsavedQuestion as question:
                arguments = {"content": request.content, "expected_version": request.expected_version}
                settled = await self._settled(tool, question, arguments, request.on_conflict)
                request = settled_request(request, settled, question.proposed)
        raise ChangedMeanwhileError(where, MOST_QUESTIONS)

    async def _settled(
        self, tool: str, question: unsaved.UnsavedQuestion, arguments: Mapping[str, Any], on_conflict: OnConflict
    ) -> Settled:
        """Have a person decide about unsaved text; the answer holds for the texts they saw.

        Raises:
            EditConflictError: It stays.
            ApprovalRequiredError: Nobody answered.
        """
        overlap = question.__cause__
        if on_conflict == "ask_if_attended" and overlap is not None and not await self._is_attended():
            raise overlap
        opened = question.opened
        decision = await self._ask_about_conflict(
            tool, question.path, question.base_text, opened.text, question.proposed, arguments
        )
        if decision.answer == "deny":
            raise unsaved.unsaved_error(question.path, opened.document.version, "and a person refused to replace them")
        return question.settled(decision.edited_text)

    async def _ask_editors(self, tool: str, where: WorkspacePath, request: WriteRequest) -> None:
        """Heed the unsaved changes of an editor that only says that it has some; they cannot be merged with.

        Raises:
            EditConflictError: It has, and the request does not say to write all the same.
        """
        if self._parts.documents.known.is_dirty(self._parts.workspace.key(where)):
            return
        answer = await self._parts.bus.query(IS_DIRTY, {"path": where})
        if not answer:
            return
        text = answer.get("text") if isinstance(answer, Mapping) else None
        attended = request.on_conflict == "ask_if_attended" and await self._is_attended()
        if attended or request.on_conflict in ("ask", "merge_or_ask"):
            await self._ask_about(tool, where, request, text)
        elif request.on_conflict != "allow":
            raise unsaved.unsaved_error(where, None, is_cancelled=request.on_conflict == "cancel")
        if isinstance(text, str):
            keep = partial(
                keep_aside, self._parts.journal, self._parts.workspace.key, where, text.encode("utf-8", "surrogatepass")
            )
            await self._parts.crew.run(keep)

    async def _is_attended(self) -> bool:
        """Whether a request would be seen; one that nobody sees would only stay open."""
        return await self._parts.gatekeeper.approvals.is_attended()

    async def _ask_about(self, tool: str, where: WorkspacePath, request: WriteRequest, text: Any) -> None:
        theirs = request.content if isinstance(request.content, str) else ""
        ours = text if isinstance(text, str) else ""
        decision = await self._ask_about_conflict(tool, where, None, ours, theirs, {"content": request.content})
        if decision.answer != "allow":
            raise unsaved.unsaved_error(where, None, "and a person refused to replace them")


def settled_request(request: WriteRequest, settled: Settled, proposed: str | None) -> WriteRequest:
    """Return a write with what a person decided about the unsaved text that it meets.

    Args:
        request: The write.
        settled: What they decided.
        proposed: What it would have written.
    """
    request = replace(request, on_conflict="allow", asked=settled.asked)
    return request if settled.text == proposed else replace(request, content=settled.text, newline="exact")
