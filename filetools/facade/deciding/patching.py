"""Patches over several files: a step for each, all or nothing, and one refusal that tells all that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.content.editing.edits import BytesOutcome, joined
from filetools.content.facts import inspect
from filetools.content.formats import UTF8, TextFormat
from filetools.content.patching.file_patch import FilePatch
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import FileToolsError, InvalidArgumentError, PathExistsError, PathNotFoundError
from filetools.facade.deciding.editing import TextChange
from filetools.facade.deciding.outcomes import repaired
from filetools.facade.deciding.preconditions import permit_move, permit_removal
from filetools.facade.deciding.seeing import tried
from filetools.facade.parts import Parts
from filetools.facade.requests import refuse_many
from filetools.facade.runner import CallRunner
from filetools.facade.steps.look import Look
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.pipeline import Outcome
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.models.files import PatchedFile, PatchResult
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


class PatchCall:
    """One patch over any number of files on its way: a step for each file, all or nothing. Used once."""

    def __init__(self, runner: CallRunner, actor: Actor, text: str) -> None:
        """Parse an actor's patch.

        Raises:
            InvalidArgumentError: It is malformed, or names a file twice.
        """
        self.patches = parse_patch(text)
        self.steps: list[PutFile | RemoveFile | MoveFile] = []
        self._puts: list[PutFile | None] = []
        self.deleted = [runner.resolve(patch.path) for patch in self.patches if patch.kind == "delete"]
        self._runner = runner
        self._actor = actor
        refuse_many(self.patches)
        for patch in self.patches:
            self._add(patch)
        self.paths = [path for step in self.steps for path in step.paths]
        if len({runner.parts.workspace.key(path) for path in self.paths}) < len(self.paths):
            raise InvalidArgumentError("The patch names one file twice; put all its hunks under one header")

    def preview(self, parts: Parts) -> PatchResult:
        """Return what it would do, without writing anything.

        Raises:
            EditNotFoundError, EditAmbiguousError, PathNotFoundError, PathExistsError, EncodingError: The first thing that is
                wrong with it; tells what is wrong with its other files, too.
        """
        made = self._made(parts)
        if refusals := [each for each in made if isinstance(each, FileToolsError)]:
            raise joined(refusals)
        return self._result(made, None)

    def add_refusals(self, parts: Parts, first: FileToolsError) -> None:
        """Have the refusal of one file tell what is wrong with the others."""
        others = (each for each in self._made(parts) if isinstance(each, FileToolsError) and each.path != first.path)
        joined([first, *others])

    def _made(self, parts: Parts) -> list[PutDecision | FileToolsError | None]:
        """Return what it makes of each file, or why it cannot."""
        found: list[PutDecision | FileToolsError | None] = []
        for patch, put in zip(self.patches, self._puts, strict=True):
            try:
                where = self._runner.resolve(patch.path)
                if patch.kind != "add" and parts.store.stat(where) is None:
                    raise PathNotFoundError(where)
                found.append(None if put is None else tried(parts, put)[1])
            except FileToolsError as exc:
                found.append(exc)
        return found

    def result(self, outcome: Outcome) -> PatchResult:
        """Return what it did."""
        return self._result([None if put is None else put.decision for put in self._puts], outcome)

    def _result(self, decisions: Sequence[PutDecision | FileToolsError | None], outcome: Outcome | None) -> PatchResult:
        files, repairs = [], [patch.repair for patch in self.patches if patch.repair]
        for patch, decision in zip(self.patches, decisions, strict=True):
            made = decision if isinstance(decision, PutDecision) else None
            report = None if made is None else made.report
            repairs += () if report is None else report.repairs
            files.append(
                PatchedFile(
                    path=patch.move_to or patch.path,
                    kind="move" if patch.move_to and not patch.hunks else patch.kind,
                    old_path=patch.path if patch.move_to else None,
                    version=None if made is None else made.told_version,
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

    def _add(self, patch: FilePatch) -> None:
        leaves = patch.kind == "delete" or patch.move_to is not None
        where = (self._runner.resolve_name if leaves else self._runner.resolve)(patch.path)
        for made in (patch.path if patch.kind == "add" else None, patch.move_to):
            if made is not None:
                self._runner.resolve_new(made, as_name=True)
        change = TextChange(path=where, apply=partial(_apply_patch, patch=patch, path=where), actor=self._actor)
        step: PutFile | RemoveFile | MoveFile
        if patch.kind == "delete":
            step = RemoveFile(where, partial(permit_removal, self._runner.parts, self._actor, None))
        elif patch.kind == "add":
            step = PutFile(where, partial(_decide_added, change, patch))
        elif patch.move_to is None:
            step = PutFile(where, partial(_decide_mode, change, patch), create_parents=False)
        elif not patch.hunks and patch.mode is None:
            permit = partial(permit_move, self._runner.parts, self._actor)
            step = MoveFile(where, self._runner.resolve_name(patch.move_to), overwrite=False, permit=permit)
        else:
            # The bytes change on the way, so it is a new file and a deleted one, in one transaction.
            destination = self._runner.resolve_name(patch.move_to)
            step = PutFile(destination, partial(_decide_moved, replace(change, path=destination), patch, where))
        self.steps.append(step)
        self._puts.append(step if isinstance(step, PutFile) else None)
        if isinstance(step, PutFile) and patch.move_to is not None:
            self.steps.append(RemoveFile(where, partial(_permit_leaving, self._runner.parts, self._actor)))


def _apply_patch(content: bytes, text_format: TextFormat, *, patch: FilePatch, path: str) -> BytesOutcome:
    return apply_file_patch(content, text_format, patch, path=path)


def _decide_added(change: TextChange, patch: FilePatch, _parts: Parts, seen: Look) -> PutDecision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    return replace(change.made(b"", UTF8), mode=patch.mode)


def _decide_mode(change: TextChange, patch: FilePatch, parts: Parts, seen: Look) -> PutDecision:
    return replace(change.decide(parts, seen), mode=patch.mode)


def _permit_leaving(parts: Parts, actor: Actor, seen: Look) -> None:
    """Refuse to take away a file whose unsaved text would not come along; the hunks themselves tell what is known."""
    if actor.kind == "agent" and (opened := unsaved_text(parts, seen)) is not None:
        raise unsaved_error(seen.path, opened.document.version)


def _decide_moved(change: TextChange, patch: FilePatch, source: WorkspacePath, parts: Parts, seen: Look) -> PutDecision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    content, stat = parts.store.read(source, limit=parts.settings.max_write_bytes)
    mode = stat.mode if patch.mode is None else patch.mode
    if not patch.hunks:  # only name and mode change; it need not be text
        return PutDecision(content=content, facts=inspect(content, name=seen.path)[0], mode=mode, like=source)
    made = change.made(content, change.format_of(parts, source, content))
    return replace(made, mode=mode, like=source, edits=None)
