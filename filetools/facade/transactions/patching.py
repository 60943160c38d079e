"""Patches over several files: a step for each, all or nothing, and one refusal that reports everything that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from filetools.changes.deciding.files import TextChange, permit_leaving, permit_move, permit_removal
from filetools.changes.deciding.outcomes import repaired
from filetools.changes.decision import PutDecision
from filetools.changes.parts import Parts
from filetools.changes.requests import refuse_many
from filetools.changes.runner import CallRunner
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.look import Look
from filetools.changes.steps.pipeline import Outcome
from filetools.content.facts import inspect
from filetools.content.formats import UTF8
from filetools.content.patching.file_patch import FilePatch
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import PathExistsError
from filetools.facade.transactions.batches import refuse_repeats
from filetools.models.files import PatchedFile, PatchResult
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


class PatchCall:
    """One patch over any number of files: a step for each, all or nothing. Used once."""

    def __init__(self, runner: CallRunner, actor: Actor, text: str) -> None:
        """Parse an actor's patch.

        Raises:
            InvalidArgumentError: It is malformed, or names a file twice.
        """
        self.patches = parse_patch(text)
        refuse_many(self.patches)
        self._runner = runner
        self._actor = actor
        made = [self._steps_of(patch) for patch in self.patches]
        self.steps = [step for steps in made for step in steps]
        self._made = [steps[0] for steps in made]
        self.paths = [path for step in self.steps for path in step.paths]
        self.deleted = [step.path for step in self._made if isinstance(step, RemoveFile)]
        refuse_repeats(runner, self.steps)

    def result(self, outcome: Outcome | None) -> PatchResult:
        """Return what it did; without an outcome, what it would do: its steps have decided."""
        files, repairs = [], [patch.repair for patch in self.patches if patch.repair]
        for patch, step in zip(self.patches, self._made, strict=True):
            decision = step.decision if isinstance(step, PutFile) else None
            report = None if decision is None else decision.report
            repairs += () if report is None else report.repairs
            files.append(
                PatchedFile(
                    path=patch.move_to or patch.path,
                    kind="move" if patch.move_to and not patch.hunks else patch.kind,
                    old_path=patch.path if patch.move_to else None,
                    version=None if decision is None else decision.told_version,
                    structured_patch=[] if report is None else list(report.hunks),
                )
            )
        return PatchResult(
            files=files,
            dry_run=outcome is None,
            number=outcome.records[-1].number if outcome is not None and outcome.records else None,
            mirror=outcome.mirror if outcome is not None else "off",
            warnings=[*repaired(repairs), *(outcome.warnings if outcome is not None else ())],
        )

    def _steps_of(self, patch: FilePatch) -> Sequence[PutFile | RemoveFile | MoveFile]:
        """Return the steps of one file: what it makes comes first."""
        runner, actor = self._runner, self._actor
        leaves = patch.kind == "delete" or patch.move_to is not None
        where = runner.resolve(patch.path, as_name=leaves)
        for made in (patch.path if patch.kind == "add" else None, patch.move_to):
            if made is not None:
                runner.resolve_new(made, as_name=True)
        apply = partial(apply_file_patch, patch=patch, path=where)
        change = TextChange(path=where, apply=apply, actor=actor, mode=patch.mode)
        if patch.kind == "delete":
            return [RemoveFile(where, partial(permit_removal, runner.parts, actor, None))]
        if patch.kind == "add":
            return [PutFile(where, partial(_decide_added, change))]
        if patch.move_to is None:
            return [PutFile(where, change.decide, create_parents=False)]
        destination = runner.resolve(patch.move_to, as_name=True)
        if not patch.hunks and patch.mode is None:
            return [MoveFile(where, destination, overwrite=False, permit=partial(permit_move, runner.parts, actor))]
        # The bytes change on the way, so it is a new file and a deleted one, in one transaction.
        decide = partial(_decide_moved, replace(change, path=destination), patch, where)
        return [PutFile(destination, decide), RemoveFile(where, partial(permit_leaving, runner.parts, actor))]


def _decide_added(change: TextChange, _parts: Parts, seen: Look) -> PutDecision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    return change.made(b"", UTF8)


def _decide_moved(change: TextChange, patch: FilePatch, source: WorkspacePath, parts: Parts, seen: Look) -> PutDecision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    mode = stat.mode if patch.mode is None else patch.mode
    if not patch.hunks:  # only name and mode change; it need not be text
        return PutDecision(content=content, facts=inspect(content, name=seen.path)[0], mode=mode, like=source)
    made = change.made(content, change.format_of(parts, source, content))
    return replace(made, mode=mode, like=source, edits=None)
