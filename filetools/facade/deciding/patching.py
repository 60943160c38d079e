"""Patches over several files: a step for each, all or nothing, and one refusal that tells all that is wrong."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from filetools.content.editing.edits import BytesOutcome, joined
from filetools.content.facts import inspect
from filetools.content.formats import UTF8, TextFormat
from filetools.content.patching.file_patch import FilePatch
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.content.version import version_of
from filetools.errors import FileToolsError, InvalidArgumentError, PathExistsError, PathNotFoundError
from filetools.facade.deciding.editing import TextChange, repaired
from filetools.facade.deciding.preconditions import permit_move, permit_removal
from filetools.facade.parts import Parts
from filetools.facade.requests import MOST_FILES
from filetools.facade.runner import CallRunner
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.look import Look
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.unsaved import unsaved_error, unsaved_text
from filetools.facade.steps.way import Outcome
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
        self._changes: list[TextChange | None] = []
        self.deleted = [runner.resolve(patch.path) for patch in self.patches if patch.kind == "delete"]
        self._runner = runner
        self._actor = actor
        if len(self.patches) > MOST_FILES:
            raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(self.patches)}")
        for patch in self.patches:
            self._add(patch)
        self.paths = [path for step in self.steps for path in step.paths]
        if len({runner.parts.workspace.key(path) for path in self.paths}) < len(self.paths):
            raise InvalidArgumentError("The patch names one file twice; put all its hunks under one header")

    def preview(self, parts: Parts) -> None:
        """Apply it to what stands there without writing anything.

        Raises:
            EditNotFoundError, EditAmbiguousError, PathNotFoundError, PathExistsError, EncodingError: The first thing that is
                wrong with it; tells what is wrong with its other files, too.
        """
        if refusals := self._refusals(parts):
            raise joined(refusals)

    def add_refusals(self, parts: Parts, first: FileToolsError) -> None:
        """Have the refusal of one file tell what is wrong with the others."""
        joined([first, *(each for each in self._refusals(parts) if each.path != first.path)])

    def _refusals(self, parts: Parts) -> list[FileToolsError]:
        found: list[FileToolsError] = []
        for patch, change in zip(self.patches, self._changes, strict=True):
            try:
                self._preview(parts, patch, change)
            except FileToolsError as exc:
                found.append(exc)
        return found

    def _preview(self, parts: Parts, patch: FilePatch, change: TextChange | None) -> None:
        where = self._runner.resolve(patch.path)
        stands = parts.store.stat(where) is not None
        if patch.kind == "add" and stands:
            raise PathExistsError(where)
        if patch.kind != "add" and not stands:
            raise PathNotFoundError(where)
        if change is not None and patch.kind == "update" and patch.move_to is None:
            change.preview(parts)
        elif change is not None and patch.kind == "update":
            content, _ = parts.store.read(where, limit=parts.settings.max_write_bytes)
            if patch.hunks:
                change.made(content, change.format_of(parts, where, content))
            change.version = change.version or version_of(content)
        elif change is not None:
            change.made(b"", UTF8)

    def result(self, outcome: Outcome | None) -> PatchResult:
        """Return what it did; `outcome` is None for a dry run."""
        files = [
            PatchedFile(
                path=patch.move_to or patch.path,
                kind="move" if patch.move_to and not patch.hunks else patch.kind,
                old_path=patch.path if patch.move_to else None,
                version=change.version if change is not None else None,
                structured_patch=change.hunks if change is not None else [],
            )
            for patch, change in zip(self.patches, self._changes, strict=True)
        ]
        return PatchResult(
            files=files,
            dry_run=outcome is None,
            number=outcome.records[-1].number if outcome is not None and outcome.records else None,
            mirror=outcome.mirror if outcome is not None else "off",
            warnings=[*repaired(self._repairs()), *(outcome.warnings if outcome is not None else ())],
        )

    def _repairs(self) -> list[str]:
        of_files = [repair for change in self._changes if change is not None for repair in change.repairs]
        return [*(patch.repair for patch in self.patches if patch.repair), *of_files]

    def _add(self, patch: FilePatch) -> None:
        leaves = patch.kind == "delete" or patch.move_to is not None
        where = (self._runner.resolve_name if leaves else self._runner.resolve)(patch.path)
        for made in (patch.path if patch.kind == "add" else None, patch.move_to):
            if made is not None:
                self._runner.resolve_new(made, as_name=True)
        if patch.kind == "delete":
            self._take(RemoveFile(where, partial(permit_removal, self._runner.parts, self._actor, None)), None)
        elif patch.kind == "add":
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where), self._actor)
            self._take(PutFile(where, partial(_decide_added, change, patch)), change)
        elif patch.move_to is None:
            change = TextChange(where, partial(_apply_patch, patch=patch, path=where), self._actor)
            self._take(PutFile(where, partial(_decide_mode, change, patch), create_parents=False), change)
        elif not patch.hunks and patch.mode is None:
            permit = partial(permit_move, self._runner.parts, self._actor)
            self._take(MoveFile(where, self._runner.resolve_name(patch.move_to), overwrite=False, permit=permit), None)
        else:
            self._add_moved(patch, where, self._runner.resolve_name(patch.move_to))

    def _add_moved(self, patch: FilePatch, source: WorkspacePath, destination: WorkspacePath) -> None:
        # The bytes change on the way, so it is a new file and a deleted one, in one transaction.
        change = TextChange(destination, partial(_apply_patch, patch=patch, path=source), self._actor)
        self.steps.append(PutFile(destination, partial(_decide_moved, change, patch, source)))
        self._take(RemoveFile(source, partial(_permit_leaving, self._runner.parts, self._actor)), change)

    def _take(self, step: PutFile | RemoveFile | MoveFile, change: TextChange | None) -> None:
        self.steps.append(step)
        self._changes.append(change)


def _apply_patch(content: bytes, text_format: TextFormat, *, patch: FilePatch, path: str) -> BytesOutcome:
    return apply_file_patch(content, text_format, patch, path=path)


def _decide_added(change: TextChange, patch: FilePatch, _parts: Parts, seen: Look) -> PutDecision:
    if seen.stat is not None:
        raise PathExistsError(seen.path)
    made = change.made(b"", UTF8)
    return PutDecision(content=made.content, facts=made.facts, mode=patch.mode)


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
        facts = inspect(content, name=seen.path)[0]
        change.version = facts.version
        return PutDecision(content=content, facts=facts, mode=mode, like=source)
    made = change.made(content, change.format_of(parts, source, content))
    return PutDecision(content=made.content, facts=made.facts, mode=mode, like=source)
