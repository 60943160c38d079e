"""Automatic checkpoints: one before the first change of each session, there before that change begins."""

from __future__ import annotations

import asyncio
import logging
import time
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
_MOMENT: Final = "%Y-%m-%d %H:%M:%S"

_log = logging.getLogger(__name__)


def automatic_name(what: str) -> str:
    """Return the name of an automatic checkpoint made now: what it was made for, and the local time."""
    return f"{_start(what)}{time.strftime(_MOMENT)}"


def _start(what: str) -> str:
    if len(what) > MOST_SHOWN_CHARACTERS:
        digest = version_of(what.encode("utf-8", "surrogatepass")).removeprefix(VERSION_PREFIX)
        what = f"{what[:MOST_SHOWN_CHARACTERS]}… {digest[:12]}"
    return f"{PREFIX}{what} "


def _is_of(name: str, what: str) -> bool:
    """Whether a name is that of an automatic checkpoint made for something."""
    return name[: -len(time.strftime(_MOMENT))] == _start(what)


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
            known = await parts.crew.run(parts.journal.checkpoints.all)
            # By another process, or by an opening before this one.
            if any(one.automatic and _is_of(one.name, session) for one in known):
                return
            seen = await self._runner.look_at_tree()
            await parts.crew.run(partial(take, parts, automatic_name(session), seen, automatic=True))
        except WorkspaceGoneError:
            raise
        except FileToolsError as exc:
            # A change is not refused for it: it can be taken back by itself.
            _log.warning("there is no checkpoint of before session %r: %s", session, exc)
