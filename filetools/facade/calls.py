"""What the calls of every theme share: whose they are, and the permission that comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from filetools.errors import ChangedMeanwhileError
from filetools.events import EventBus
from filetools.facade.feed import Feed
from filetools.facade.proposals import propose
from filetools.facade.runner import Runner
from filetools.models import Actor
from filetools.paths import WorkspacePath
from filetools.settings import Settings

MOST_QUESTIONS: Final = 3
"""How often a person is asked about one call whose files keep changing meanwhile."""


class Calls:
    """The calls of one actor on one opened workspace; a base of the facade."""

    def __init__(self, runner: Runner, feed: Feed, actor: Actor) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._feed = feed
        self.actor = actor

    @property
    def bus(self) -> EventBus:
        """The event bus of the workspace, shared by all actors."""
        return self._parts.bus

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._parts.settings

    async def _authorise(
        self, tool: str, paths: Sequence[WorkspacePath], arguments: Mapping[str, Any], *, change: bool
    ) -> None:
        """Have the permissions decide; what a person allowed must still be what the call would do.

        Raises:
            ToolBlockedError, ApprovalRequiredError, ApprovalDeniedError
            ChangedMeanwhileError: The files changed while a person was asked, each of three times.
        """
        describe = partial(propose, self._parts, tool, paths, arguments)
        for _ in range(MOST_QUESTIONS):
            authorise = self._parts.gatekeeper.authorise
            allowed = await authorise(tool, paths, actor=self.actor, change=change, describe=describe)
            if allowed is None or (await describe()).digest == allowed.digest:
                return
        raise ChangedMeanwhileError(paths[0] if paths else ".", MOST_QUESTIONS)
