"""Where calls meet stamps: a write is decided by what its actor knows, and leaves behind what the actor knows now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from filetools.facade.expected import require_version
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.stale import require_known
from filetools.facade.steps import Decision, MoveFile, PutFile, RemoveFile, unsaved_error, unsaved_text
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
            note_edited(parts, actor, [step])
            continue
        _note_told(parts, actor, step, decision)
        sent = decision.sent
        version, content = (step.version, decision.content) if sent is None else (sent.version, sent.content)
        for key in _keys(parts, step):
            parts.knowledge.note(actor, key, version, content=content, encoding=decision.encoding)


def note_edited(parts: Parts, actor: Actor, steps: Sequence[PutFile]) -> None:
    """Note what an actor's own edits made; the stamp itself stays, as an edit needs only the text it replaces."""
    for step in steps:
        # Of unsaved text, since the file's being known says nothing of what a person has typed.
        decision = step.decision
        before = decision.buffer_before if decision is not None and decision.in_buffer else step.seen.version
        for key in _keys(parts, step):
            parts.knowledge.note_own_edit(actor, key, before, step.version)
        if decision is not None:
            _note_told(parts, actor, step, decision)


def _note_told(parts: Parts, actor: Actor, step: PutFile, decision: Decision) -> None:
    """Note the version that the result names, where it is that of a text with unsaved parts of others in it."""
    if decision.shown_version not in (None, decision.facts.version):
        parts.knowledge.note_told(actor, step.seen.key, decision.shown_version)


def note_gone(parts: Parts, actor: Actor, steps: Sequence[RemoveFile]) -> None:
    """Forget what an actor knew of files that it deleted."""
    for step in steps:
        parts.knowledge.forget(actor, step.seen.key)


def note_moved(parts: Parts, actor: Actor, step: MoveFile) -> None:
    """Forget what an actor knew of both ends of a move."""
    for end in step.seen:
        parts.knowledge.forget(actor, end.key)


def permit_removal(parts: Parts, actor: Actor, expected: str | None, seen: Look) -> None:
    """Refuse to delete what is not at the version that its actor expects or knows, or what a person has unsaved text of.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if actor.kind == "agent" and (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)
    if expected is not None:
        require_version(seen, expected)
    else:
        require_known(parts, actor, seen)


def permit_move(parts: Parts, actor: Actor, source: Look, destination: Look) -> None:
    """Refuse to move, or to cover, what others have changed since its actor got to know it, and to cover unsaved text.

    Raises:
        VersionMismatchError, EditConflictError
    """
    if destination.key != source.key and (opened := unsaved_text(parts, destination)) is not None:
        raise unsaved_error(destination.path, opened.document.version)
    require_known(parts, actor, source, destination)


def _keys(parts: Parts, step: PutFile) -> list[str]:
    """Return the keys of all names of a file: who writes it under one of them knows it under the others."""
    return [step.seen.key, *(parts.workspace.key(name) for name in step.other_names)]
