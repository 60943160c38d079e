"""A file with several names gets new bytes at all of them: one step more for each further name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from msgspec.structs import replace

from filetools.errors import HardLinkedError, InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.parents import UnheldError
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.facade.steps.unsaved import keep_unsaved, unsaved_error, unsaved_text
from filetools.journal.changes import Change, HeadMovedError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


class OtherName(PutFile):
    """Has a further name stand for the file that another step makes; implements `Step`."""

    def __init__(self, path: WorkspacePath, first: PutFile, twin: PutFile | None = None) -> None:
        """Follow a step.

        Args:
            path: The further name.
            first: What makes the file.
            twin: A step of the same call that would make the same file at this name; its record stands for it.
        """
        super().__init__(path, lambda _parts, _seen: self._shared(), create_parents=False)
        self._first = first
        self.twin = twin

    def look(self, parts: Parts) -> None:
        """See what stands there: still the file that the first name stands for."""
        super().look(parts)
        mine, first = self.seen.stat, self._first.seen.stat
        if mine is None or first is None or (mine.device, mine.inode) != (first.device, first.inode):
            raise HeadMovedError(self.path)

    def drafts(self) -> Sequence[Change]:
        """As any; a twin's say what else it knows of them, such as what they undo."""
        return super().drafts() if self.twin is None else self.twin.drafts()

    def decide(self, parts: Parts) -> bool:
        """Take what is decided for the first name.

        Raises:
            EditConflictError: The unsaved text of an editor, which opened this name, would need other bytes.
        """
        self.other_names = ()
        is_new = self.decide_alone(parts)
        opened = unsaved_text(parts, self.seen)
        if opened is not None and (self._in_buffer or self.content != self._first.content):
            raise unsaved_error(self.path, opened.document.version)
        return is_new

    def prepare(self, parts: Parts) -> None:
        """Give the prepared file of the first name one more temporary name."""
        assert self.decision is not None
        keep_unsaved(parts, self.seen, self.decision)
        self._prepared = parts.store.prepare_link(self.path, self._first.prepared)

    def finish(self, parts: Parts) -> None:
        """Let go of the displaced name, and remember the names."""
        super().finish(parts)
        made = self._first.prepared.stat
        parts.links.note((made.device, made.inode), (self._first.path, *self._first.other_names))

    def _shared(self) -> PutDecision:
        decision = self._first.decision
        assert decision is not None
        return replace(decision, document=None, kept_unsaved=None, shown=None, relations=())


def with_other_names(
    parts: Parts, steps: Sequence[Step], actor: Actor, held: Container[str]
) -> tuple[list[Step], list[OtherName]]:
    """Return steps that have decided, each followed by those for the further names of its file; and these alone.

    Args:
        parts: The workspace.
        steps: Have decided to change something.
        actor: Who changes it.
        held: Paths whose locks are held beside those of the steps.

    Raises:
        UnheldError: The locks of further names must be held.
        InvalidArgumentError: Two steps make different files of one with two names.
        HardLinkedError: The actor may not change the file under one of its names.
    """
    groups = [(step, step.other_names) for step in steps if isinstance(step, PutFile) and step.other_names]
    if not groups:
        return list(steps), []
    for step, names in groups:
        _refuse_forbidden(parts, step, names, actor)
    used = {parts.workspace.key(path): step for step in steps for path in step.paths}
    unheld = [
        name for _, names in groups for name in names if name not in held and parts.workspace.key(name) not in used
    ]
    if unheld:
        raise UnheldError(unheld)
    followers: dict[int, list[OtherName]] = {}
    twins: set[int] = set()
    for step, names in groups:
        if id(step) not in twins:
            followers[id(step)] = [
                OtherName(name, step, _twin_of(step, name, used.get(parts.workspace.key(name)))) for name in names
            ]
            twins |= {id(one.twin) for one in followers[id(step)] if one.twin is not None}
    others = [one for several in followers.values() for one in several]
    for other in others:
        other.look(parts)
        other.decide(parts)
    leading = [step for step in steps if id(step) not in twins]
    return [one for step in leading for one in (step, *followers.get(id(step), ()))], others


def _twin_of(step: PutFile, name: WorkspacePath, other: Step | None) -> PutFile | None:
    """Return the step that makes the same file at a further name, as an undo does; refuse one that makes another."""
    if other is None:
        return None
    if isinstance(other, PutFile) and other.makes_same(step):
        return other
    raise InvalidArgumentError(
        f"{step.path} and {name} are names of one file; change it under one of them", path=step.path
    )


def _refuse_forbidden(parts: Parts, step: PutFile, names: Iterable[WorkspacePath], actor: Actor) -> None:
    """Refuse a way around a block, or around the protection of a path, by another name of the file."""
    check = parts.gatekeeper.policy.check
    for name in names:
        found = check("write_file", name, actor=actor, operation="change")
        if (found.needs_approval and found.reason == "protected") or not (found.can_execute or found.needs_approval):
            assert step.seen.stat is not None
            raise HardLinkedError(step.path, step.seen.stat.links, forbidden=name)
