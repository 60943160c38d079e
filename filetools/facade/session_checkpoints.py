"""Automatic checkpoints: one before the first change of each session, there before that change begins."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final

from filetools.content.version import version_of
from filetools.errors import FileToolsError, WorkspaceGoneError
from filetools.facade.runner import CallRunner
from filetools.facade.snapshots import take
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX
from filetools.permissions.call_watch import uncounted

PREFIX: Final = "auto: "
"""What names of automatic checkpoints begin with."""
MOST_SHOWN_CHARACTERS: Final = 100
"""Characters of a session in the name of its checkpoint."""

_log = logging.getLogger(__name__)


def automatic_name(what: str) -> str:
    """Return the name of the automatic checkpoint that is made for something."""
    if len(what) > MOST_SHOWN_CHARACTERS:
        digest = version_of(what.encode("utf-8", "surrogatepass")).removeprefix(VERSION_PREFIX)
        what = f"{what[:MOST_SHOWN_CHARACTERS]}… {digest[:12]}"
    return f"{PREFIX}{what}"


class SessionCheckpoints:
    """Makes them where the settings say so. One an opened workspace."""

    def __init__(self, runner: CallRunner) -> None:
        self._runner = runner
        self._parts = runner.parts
        self._begun: dict[str, asyncio.Task[None]] = {}

    async def before_change(self, actor: Actor) -> None:
        """Return when the checkpoint of before this actor's session is there, or has failed; from then on at once.

        Calls of one session wait together, and one that is cancelled does not take it from the others. The waiting does
        not count against the time limit of a tool call.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        if actor.session is None or self._parts.settings.auto_checkpoint == "off":
            return
        task = self._begun.get(actor.session)
        if task is None:
            making = self._runner.while_open(self._make(actor.session))
            task = self._begun[actor.session] = asyncio.create_task(making, name="filetools checkpoint")
        if not task.done():
            with uncounted():
                await asyncio.shield(task)

    async def _make(self, session: str) -> None:
        parts = self._parts
        try:
            name = automatic_name(session)
            # By another process, or by an opening before this one.
            if await parts.crew.run(partial(parts.journal.checkpoints.get, name)) is None:
                await parts.crew.run(partial(take, parts, name, await self._runner.look_at_tree(), automatic=True))
        except WorkspaceGoneError:
            raise
        except FileToolsError as exc:
            # A change is not refused for it: it can be taken back by itself.
            _log.warning("there is no checkpoint of before session %r: %s", session, exc)
