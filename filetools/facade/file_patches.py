"""Diffs of one file, sent to the file itself, so that the name in them does not matter."""

from __future__ import annotations

from filetools.content.edits import BytesOutcome
from filetools.content.formats import TextFormat
from filetools.content.patches import apply_file_patch, parse_patch
from filetools.errors import InvalidArgumentError
from filetools.facade.editing import TextChange
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath


def file_patch_change(path: WorkspacePath, diff: str, actor: Actor, *, expected_version: str | None) -> TextChange:
    """Return the change that a diff makes of one file, by whatever name it calls it.

    Raises:
        InvalidArgumentError: It is malformed, is for several files, or does more than to change text.
    """
    patches = parse_patch(diff)
    if len(patches) != 1:
        raise InvalidArgumentError(f"The diff is for {len(patches)} files; send the hunks of one", path=path)
    [patch] = patches
    if patch.kind != "update" or patch.move_to is not None or patch.mode is not None or not patch.hunks:
        raise InvalidArgumentError("A diff of one file can only change its text", path=path)

    def apply(content: bytes, text_format: TextFormat) -> BytesOutcome:
        return apply_file_patch(content, text_format, patch, path=path)

    return TextChange(path, apply, actor, expected_version=expected_version)
