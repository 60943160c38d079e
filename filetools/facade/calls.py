"""The base of all calls: the actor and the permission check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from filetools.changes.deciding.proposals import Act, Taken
from filetools.changes.runner import CallRunner
from filetools.changes.steps.files import PutFile
from filetools.changes.steps.step import Step
from filetools.errors import ChangedMeanwhileError
from filetools.facade.reading.feed import Feed
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.paths.lexical import AnyPath
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit

MOST_QUESTIONS: Final = 3
"""How often a person is asked about one call whose files keep changing meanwhile."""


class ActorCalls:
    """The calls of one actor on one opened workspace; a base of the facade."""

    def __init__(
        self,
        runner: CallRunner,
        feed: Feed,
        actor: Actor,
        *,
        require_version: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._feed = feed
        self._require_version = require_version
        self._on_conflict = on_conflict
        self.actor = actor

    async def _authorise(
        self,
        tool: str,
        paths: Sequence[WorkspacePath],
        arguments: Mapping[str, Any],
        *,
        change: bool,
        steps: Sequence[Step] = (),
        text: Callable[[], str] | None = None,
        taken: Taken = (),
        is_text: bool = False,
        looks_at_disk: bool = False,
        reports_all: bool = False,
    ) -> Permit | None:
        """Check the permissions, and ask a person if they require it.

        Args:
            tool: Name of the tool.
            paths: Every path the call works on.
            arguments: Everything that distinguishes this call from others.
            change: True if the call changes anything.
            steps: The steps of the call.
            text: Returns the new text of the first path, if no step writes it.
            taken: Files that the call moves by writing them elsewhere.
            is_text: True if a person may replace the text to write.
            looks_at_disk: True if the call writes the unsaved text itself.
            reports_all: True if the call's error depends on all its steps, so that one refused step does not refuse it here.

        Returns:
            A person's approval, with the text to write instead if they gave one; None if nobody was asked.

        Raises:
            ToolBlockedError, HiddenPathError, ApprovalRequiredError, ApprovalDeniedError
            ChangedMeanwhileError: The files changed while a person was asked, three times in a row.
            FileToolsError: The call would fail anyway, so nobody was asked.
        """
        if not self._parts.gatekeeper.asked(tool, paths, self.actor, change=change):
            return None
        act = Act(
            tool=tool, paths=paths, arguments=arguments, actor=self.actor, steps=steps, text=text, taken=taken,
            is_text=is_text, looks_at_disk=looks_at_disk, reports_all=reports_all,
        )  # fmt: skip
        describe = partial(self._parts.workers.run, partial(act.propose, self._parts))
        for _ in range(MOST_QUESTIONS):
            authorise = self._parts.gatekeeper.authorise
            permit = await authorise(tool, paths, actor=self.actor, change=change, describe=describe)
            if permit is None:
                return None
            digest = permit.proposal.digest
            now = await self._parts.workers.run(partial(act.propose, self._parts, with_diff=False))
            if now.digest == digest:
                return replace(permit, check=partial(act.require_allowed, self._parts, digest))
        raise ChangedMeanwhileError(paths[0] if paths else ".", MOST_QUESTIONS)

    async def _readable(self, tool: str, path: AnyPath, *, allow_root: bool = False) -> WorkspacePath:
        """Return the normal form of a path that a call of a tool only reads; raises as `_authorise`."""
        where = self._runner.resolve(path, allow_root=allow_root)
        await self._authorise(tool, [where], {}, change=False)
        return where

    async def _authorise_steps(
        self,
        tool: str,
        paths: Sequence[WorkspacePath],
        arguments: Mapping[str, Any],
        steps: Sequence[Step],
        *,
        deleted: Sequence[WorkspacePath],
    ) -> Permit | None:
        """As `_authorise`, for steps some of which delete files."""
        permit = await self._authorise(tool, paths, arguments, change=True, steps=steps, reports_all=True)
        if deleted and permit is None:
            removals = [step for step in steps if not isinstance(step, PutFile)]
            permit = await self._authorise(
                "delete_file", deleted, arguments, change=True, steps=removals, reports_all=True
            )
        elif deleted:  # the person has seen the deletions, but a blocked tool still refuses
            self._parts.gatekeeper.asked("delete_file", deleted, self.actor, change=True)
        return permit
