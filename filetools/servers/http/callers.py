"""Who calls: the actor of each request, and the files and tools bound to it.

What sort of party calls is decided by how it was let in, never by what it says of itself.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.tools.call_log import CallLog
from filetools.tools.registry import ToolRegistry

AGENT: Final = "http"
"""Name of every agent: clients have none that can be trusted."""
MOST_CALLERS: Final = 1000
LONGEST_SESSION: Final = 120


class Admission(Struct, frozen=True, kw_only=True):
    """How a request was let in."""

    login: str | None = None
    """Id of the login of a person; None for everybody else."""

    @property
    def is_person(self) -> bool:
        """Whether a person has logged in, who may edit and approve."""
        return self.login is not None


class Caller(Struct, frozen=True, kw_only=True):
    """One party that calls, with all that is bound to it."""

    files: FileToolsFacade
    """The workspace as this caller's; replacing a file needs no version."""
    registry: ToolRegistry
    """Its tools; an agent's replace a file only if they name its version."""
    is_person: bool
    descriptors: DescriptorCalls
    """Its long results, under ids that nobody can guess."""

    @property
    def actor(self) -> Actor:
        """Whom the calls belong to."""
        return self.files.actor

    @property
    def owner(self) -> str:
        """What tells this caller from others."""
        return f"{self.actor.kind}:{self.actor.id}:{self.actor.session}"


class Callers:
    """The callers of one server; lives as long as it.

    Args:
        files: The opened workspace.
        person: Name of the person who logs in.
        log: Where the calls of tools are logged.
        keeps_results: Whether long results of agents' calls become descriptors.
    """

    def __init__(self, files: FileToolsFacade, *, person: str, log: CallLog, keeps_results: bool = False) -> None:
        self._keeps_results = keeps_results
        self._files = files
        self._person = person
        self._log = log
        self._process = f"process-{secrets.token_hex(4)}"
        self._known: OrderedDict[tuple[str, str], Caller] = OrderedDict()

    def caller(self, admission: Admission, session: str | None = None) -> Caller:
        """Return the caller that was let in, in the session that it names; else in that of its login, or of this process."""
        kind = "editor" if admission.is_person else "agent"
        told = (session or "").strip()[:LONGEST_SESSION] or admission.login
        named = told or self._process
        key = (kind, named)
        if key not in self._known:
            self._known[key] = self._made(admission.is_person, named, told)
        self._known.move_to_end(key)
        if len(self._known) > MOST_CALLERS:
            self._known.popitem(last=False)
        return self._known[key]

    def _made(self, is_person: bool, session: str, told: str | None) -> Caller:
        actor = (
            Actor(kind="editor", id=self._person, session=session)
            if is_person
            else Actor(kind="agent", id=AGENT, session=session)
        )
        # Where an agent's text meets unsaved text, the person at the editor decides.
        files = self._files.for_actor(
            actor,
            require_version=False,
            on_conflict="merge" if is_person else "ask_if_attended",
            ephemeral=not told,
        )
        # Without the process: a client that names no session comes back to its results after a restart.
        owner = json.dumps(["http", actor.kind, actor.id, told])
        descriptors = files.descriptors(owner=owner, is_opaque=True)
        # Agents may share a session without knowing of each other: what one saw must not justify another's overwrite.
        registry = ToolRegistry(
            files,
            require_version=not is_person,
            log=self._log,
            descriptors=descriptors if self._keeps_results and not is_person else None,
        )
        return Caller(files=files, registry=registry, is_person=is_person, descriptors=descriptors)
