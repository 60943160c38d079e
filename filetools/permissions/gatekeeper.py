"""The first step of every call: check the policy, and ask a person if it says so."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from filetools.errors import FileToolsError, HiddenPathError, ToolBlockedError
from filetools.models.records import Actor
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.permissions.approvals import Approvals, CallRun
from filetools.permissions.audience import Case
from filetools.permissions.policy import PermissionPolicy, SavedPermissions
from filetools.permissions.requests import AskReason, Proposal

Describe = Callable[[], Awaitable[Proposal]]

_WHOLE_TREE: Final = (ROOT,)


class Permit(Struct, frozen=True, kw_only=True):
    """A person's approval of one call."""

    proposal: Proposal
    """What was approved; the caller checks that the call still does exactly this."""
    edited_text: str | None
    """Text to write instead, if the person gave one."""
    check: Callable[[], None] = lambda: None
    """Raises ChangedMeanwhileError unless the call still is what was approved; call it in a turn."""


class Gatekeeper:
    """Allows or refuses calls, or asks a person.

    Args:
        policy: The policy.
        approvals: Asks people; its trust must be the policy's.
        rule_file: The file of saved rules; no tool may have access to it.
        run: Reads that file in a worker thread.
        refusal: Why the workspace is read-only; None if it is not.
    """

    def __init__(
        self,
        policy: PermissionPolicy,
        approvals: Approvals,
        *,
        rule_file: Path,
        run: CallRun,
        refusal: FileToolsError | None = None,
    ) -> None:
        self.policy = policy
        self.approvals = approvals
        self._rule_file = rule_file
        self._run = run
        self.refusal = refusal

    async def authorise(
        self, tool: str, paths: Sequence[WorkspacePath], *, actor: Actor, change: bool, describe: Describe
    ) -> Permit | None:
        """Return if the call may proceed; waits for a person if one must be asked. No lock may be held meanwhile.

        Args:
            tool: Name of the tool. A call that deletes as part of something else is checked as "delete_file".
            paths: Every path the call works on: source and destination, and of a folder that is moved or deleted those
                below that `policy.is_protected` or a rule may concern. None at all counts as the root.
            actor: The caller.
            change: True if the call changes any of them.
            describe: Describes what the call would do; called only if a person is asked. Its digest must cover all that the
                call would do, including the versions of further paths.

        Returns:
            The approval; None if nobody was asked.

        Raises:
            ToolBlockedError: The policy blocks it on one of the paths.
            HiddenPathError: One of them is hidden from agents.
            ApprovalRequiredError: Nobody is present to answer, or nobody did in time; carries the id of the request.
            ApprovalDeniedError: A person denied it.
            FileToolsError: `describe` failed, because the call would fail anyway; or the workspace is read-only.
        """
        look = partial(self.asked, tool, paths, actor, change=change)
        while asked := look():
            # One question covers the whole call; a protected path is named first.
            first, reason = next((one for one in asked if one[1] == "protected"), asked[0])
            proposal = await describe()
            case = Case(
                tool=tool,
                path=first,
                paths=tuple(paths or _WHOLE_TREE),
                actor=actor,
                # Replacing unsaved text is a separate decision, but one question covers both.
                reason=reason if proposal.base_text is None else "conflict",
                proposal=proposal,
                is_protected=reason == "protected",
            )
            decision = await self.approvals.ask(case)
            if decision is not None:
                return Permit(proposal=proposal, edited_text=decision.edited_text)
        return None

    def check_writable(self) -> None:
        """Raise the reason if the workspace is read-only."""
        if self.refusal is not None:
            raise copy.copy(self.refusal)

    def refuse_hidden(self, tool: str, paths: Sequence[WorkspacePath], actor: Actor) -> None:
        """Raise HiddenPathError if a call would show an agent the content of a hidden file, or change it."""
        for path in paths:
            if self.policy.hides(tool, path, actor):
                raise HiddenPathError(path)

    def asked(
        self, tool: str, paths: Sequence[WorkspacePath], actor: Actor, *, change: bool
    ) -> list[tuple[WorkspacePath, AskReason]]:
        """Return the paths that a person must decide about, after checking all of them for a block.

        Raises:
            ToolBlockedError: The policy blocks it on one of the paths.
            HiddenPathError: One of them is hidden from agents.
            FileToolsError: The workspace is read-only.
        """
        if change:
            self.check_writable()
        asked: list[tuple[WorkspacePath, AskReason]] = []
        may_ask = change and self.policy.preset == "allow" and actor.kind in ("agent", "external")
        must_ask = may_ask and self.approvals.must_ask()
        for path in paths or _WHOLE_TREE:
            decision = self.policy.check(tool, path, actor=actor, change=change, must_ask=must_ask)
            if decision in ("prompt", "protected"):
                asked.append((path, decision))
            elif decision == "hidden":
                raise HiddenPathError(path)
            elif decision == "block":
                raise ToolBlockedError(tool, path or None, f"the permissions in force ({self.policy.preset}) forbid it")
        return asked

    async def load(self, *, preset_given: bool) -> None:
        """Apply the saved permissions.

        Args:
            preset_given: True if the policy's preset was chosen for this opening; then the saved one is ignored.

        Raises:
            StateDamagedError: The file cannot be used; nothing has changed.
        """
        saved = await self._run(partial(SavedPermissions.read, self._rule_file))
        chosen = None if preset_given else saved.preset
        self.policy.use(chosen or self.policy.preset, saved.rules)
