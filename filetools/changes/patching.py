"""Decisions over several files: patches and batches, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.editing import EditAnswer, changed_text, existing_file
from filetools.changes.knowledge import Knowledge, bytes_now, facts_now, file_or_nothing, name_or_nothing
from filetools.changes.planner import planned
from filetools.changes.tree_decisions import decide_delete, decide_move
from filetools.changes.writing import missing_folders, put_operations
from filetools.content.edits import joined
from filetools.content.file_patch import FilePatch
from filetools.content.formats import UTF8
from filetools.content.patches import apply_file_patch
from filetools.errors import (
    BatchFailedError,
    EditAmbiguousError,
    EditNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, Move, Put, Seen, SeenPath, TreeOperation

MOST_FILES: Final = 1000
"""Files in one call."""
_TOLD_TOGETHER: Final = (EditNotFoundError, EditAmbiguousError, PathNotFoundError, PathExistsError)


class PatchTarget(Struct, frozen=True, kw_only=True):
    """What a patch does to one file, with its names as paths of the workspace."""

    patch: FilePatch
    path: WorkspacePath
    knowledge: Knowledge
    to: WorkspacePath | None = None
    """Its new name, if the patch gives one."""
    knowledge_of_new: Knowledge | None = None
    """What the actor knows of the new name."""

    @property
    def paths(self) -> tuple[WorkspacePath, ...]:
        """Both names."""
        return (self.path,) if self.to is None else (self.path, self.to)


class PatchAnswer(Struct, frozen=True, kw_only=True):
    """What a patch did."""

    files: Sequence[PatchedText]
    """In the order of the patch."""


class PatchedText(Struct, frozen=True, kw_only=True):
    """What a patch did to one file."""

    target: PatchTarget
    before: SeenPath
    edit: EditAnswer | None = None
    """The new text; None for a file that was deleted, or only got another name or mode."""
    version: str | None = None
    """Of the file afterwards; None if it was deleted, or only moved."""


def decide_patch(seen: Seen, *, targets: Sequence[PatchTarget], settings: Settings) -> Decided:
    """Apply a patch over any number of files.

    Args:
        seen: With the bytes of all files that are not only deleted or moved.
        targets: The files.
        settings: Limits, and what happens to files with several names.

    Returns:
        The operations, and a `PatchAnswer`.

    Raises:
        EditNotFoundError, EditAmbiguousError: A hunk does not fit; the error also names what is wrong with other files.
        InvalidArgumentError: The patch names a file twice, or too many.
        FileToolsError: As the decisions for single files.
    """
    if len(targets) > MOST_FILES:
        raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(targets)}")
    paths = [seen.at(path).path for target in targets for path in target.paths]
    if len(set(paths)) < len(paths):
        raise InvalidArgumentError("The patch names one file twice; put all its hunks under one header")
    made: list[PatchedText] = []
    operations: list[TreeOperation] = []
    refusals: list[FileToolsError] = []
    for target in targets:
        try:
            file, changes = _patched(seen, target, settings)
        except FileToolsError as exc:
            refusals.append(exc)
        else:
            made.append(file)
            operations += changes
    if refusals:
        raise joined(refusals) if isinstance(refusals[0], _TOLD_TOGETHER) else refusals[0]
    return Decided(operations=planned(seen, operations), answer=PatchAnswer(files=made))


def decide_together(seen: Seen, *, decisions: Sequence[Callable[[Seen], Decided]]) -> Decided:
    """Decide several calls over files of their own as one; see `refuse_repeats`.

    Returns:
        The operations of all, and a tuple of their answers.

    Raises:
        BatchFailedError: One of them is refused.
    """
    try:
        made = [decide(seen) for decide in decisions]
        operations = planned(seen, (operation for each in made for operation in each.operations))
    except FileToolsError as exc:
        raise BatchFailedError(exc) from exc
    return Decided(operations=operations, answer=tuple(each.answer for each in made))


def refuse_repeats(paths: Sequence[WorkspacePath], key: Callable[[WorkspacePath], str] = str) -> None:
    """Refuse a batch over too many files, over one file twice, or over a file and what would be inside it.

    Args:
        paths: The files.
        key: Gives the text that all spellings of a path share.

    Raises:
        InvalidArgumentError
    """
    if len(paths) > MOST_FILES:
        raise InvalidArgumentError(f"At most {MOST_FILES} files in one call, not {len(paths)}")
    known: set[str] = set()
    for path in paths:
        if key(path) in known:
            raise InvalidArgumentError(f"{path} is named twice", path=path)
        known.add(key(path))
    for path in paths:
        for folder in path.folders:
            if key(folder) in known:
                raise InvalidArgumentError(f"{path} lies inside {folder}, which is another file", path=path)


def _patched(seen: Seen, target: PatchTarget, settings: Settings) -> tuple[PatchedText, Sequence[TreeOperation]]:
    """Return what a patch does to one file, and the operations."""
    patch, path, before = target.patch, target.path, seen.at(target.path)
    file = PatchedText(target=target, before=before)
    if patch.kind == "delete":
        decided = decide_delete(seen, path=path, knowledge=target.knowledge, settings=settings)
        return file, decided.operations
    if target.to is not None and not patch.hunks and patch.mode is None:
        name_or_nothing(seen, path, settings)  # a patch is about files: it moves no folder
        known = (target.knowledge, target.knowledge_of_new or Knowledge(actor=target.knowledge.actor))
        decided = decide_move(
            seen, source=path, destination=target.to, overwrite=False, knowledge=known, settings=settings
        )
        return file, decided.operations
    change = partial(apply_file_patch, patch=patch, path=path)
    if patch.kind == "add":
        if file_or_nothing(seen, path, settings).kind is not None:
            raise PathExistsError(path)
        edit = changed_text(before, b"", UTF8, change)
        changes = put_operations(seen, before, edit.content, edit.facts.version, settings, mode=patch.mode)
        return replace(file, edit=edit, version=edit.facts.version), changes
    if target.to is not None and file_or_nothing(seen, target.to, settings).kind is not None:
        raise PathExistsError(target.to)
    now = existing_file(seen, path, settings)
    content = bytes_now(seen, now)
    if target.to is None or patch.hunks:
        facts = facts_now(seen, now, target.knowledge)
        edit = changed_text(replace(now, path=target.to or now.path), content, facts.text_format, change)
        content, file = edit.content, replace(file, edit=edit, version=edit.facts.version)
    else:  # only name and mode change; it need not be text
        file = replace(file, version=now.version)
    if target.to is None:
        changes = put_operations(seen, now, content, str(file.version), settings, mode=patch.mode)
        return file, changes
    put = Put(path=target.to, content=content, mode=patch.mode)
    return file, (*missing_folders(seen, target.to), Move(path=now.path, to=target.to), put)
