"""Where calls meet stamps: a write is decided by what its actor knows, and leaves behind what the actor knows now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps import Decision, MoveFile, PutFile, RemoveFile
from filetools.facade.writing import require_known, require_version
from filetools.models import Actor
from filetools.paths import WorkspacePath


class DecideWrite(Protocol):
    """One of the `decide_…` functions of `writing.py`."""

    def __call__(self, parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
        """Return what shall stand there, or raise the refusal."""


def put_step(where: WorkspacePath, request: WriteRequest, actor: Actor, decide: DecideWrite) -> PutFile:
    """Return the step that writes what an actor sends."""
    return PutFile(where, partial(decide, request=request, actor=actor), create_parents=request.create_parents)


def note_sent(parts: Parts, actor: Actor, steps: Sequence[PutFile]) -> None:
    """Stamp what an actor has sent: exactly that, also where it was merged, or its next write would undo the merge.

    A text that was only added to is known as a whole if it was known before.
    """
    for step in steps:
        decision = step.decision
        if decision is None:
            continue
        if not decision.is_known:
            parts.knowledge.note_own_edit(actor, step.seen.key, step.seen.version, step.version)
            continue
        sent = decision.sent
        version, content = (step.version, decision.content) if sent is None else (sent.version, sent.content)
        parts.knowledge.note(actor, step.seen.key, version, content=content)


def note_edited(parts: Parts, actor: Actor, steps: Sequence[PutFile]) -> None:
    """Note what an actor's own edits made; the stamp itself stays, as an edit needs only the text it replaces."""
    for step in steps:
        parts.knowledge.note_own_edit(actor, step.seen.key, step.seen.version, step.version)


def note_gone(parts: Parts, actor: Actor, steps: Sequence[RemoveFile]) -> None:
    """Forget what an actor knew of files that it deleted."""
    for step in steps:
        parts.knowledge.forget(actor, step.seen.key)


def note_moved(parts: Parts, actor: Actor, step: MoveFile) -> None:
    """Forget what an actor knew of both ends of a move."""
    for end in step.seen:
        parts.knowledge.forget(actor, end.key)


def permit_removal(parts: Parts, actor: Actor, expected: str | None, seen: Look) -> None:
    """Refuse to delete what is not at the version that its actor expects or knows.

    Raises:
        VersionMismatchError
    """
    if expected is not None:
        require_version(seen, expected)
    else:
        require_known(parts, actor, seen)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move, or to cover, what others have changed since its actor got to know it.

    Raises:
        VersionMismatchError
    """
    require_known(parts, actor, source, destination)
