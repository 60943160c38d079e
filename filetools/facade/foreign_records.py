"""The records of what other programs have done: built from what a look has met, journaled by the recorder."""

from __future__ import annotations

from dataclasses import replace

from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.steps.foreign_folders import folder_view
from filetools.journal.changes import Change
from filetools.models.records import Operation
from filetools.paths.workspace_path import WorkspacePath


def gone(parts: Parts, path: WorkspacePath) -> Change:
    """Return the record that a file is gone, be it that a folder has its place or its folder another one."""
    key = parts.workspace.key(path)
    view = parts.journal.view(key)
    version = None if view.head is None else view.head.version
    return Change(
        operation=Operation.DELETE, path=path, key=key, before=version, before_unknown=version is None, view=view,
        applied=True, external=True,
    )  # fmt: skip


def folder(parts: Parts, operation: Operation, path: WorkspacePath, since: int) -> Change:
    """Return the record of a folder.

    Args:
        parts: The workspace.
        operation: What has happened to it.
        path: Where it is.
        since: Number of the newest record before the look.

    Raises:
        HeadMovedError: A folder above is being moved or deleted.
    """
    view = folder_view(parts, path, since)
    return Change(operation=operation, path=path, key=parts.workspace.key(path), view=view, applied=True, external=True)


def move(left: Look, arrived: Look) -> Change:
    """Return the record that a file bears another name."""
    return Change(
        operation=Operation.MOVE,
        path=arrived.path,
        key=arrived.key,
        old_path=left.path,
        old_key=left.key,
        before=arrived.version,
        after=arrived.version,
        content=arrived.content,
        size=None if arrived.stat is None else arrived.stat.size,
        mode=None if arrived.stat is None else arrived.stat.mode,
        view=arrived.view,
        old_view=left.view,
        applied=True,
        external=True,
    )


def learned(left: Look, arrived: Look) -> list[Change]:
    """Return what became of a name that nobody had looked at: what stood there is known by what arrived elsewhere."""
    assert arrived.stat is not None
    found = Change(
        operation=Operation.FOUND, path=left.path, key=left.key, after=arrived.version, content=arrived.content,
        size=arrived.stat.size, mode=arrived.stat.mode, view=left.view, applied=True, external=True,
    )  # fmt: skip
    if left.version == arrived.version:
        return [found]
    operation = Operation.DELETE if left.stat is None else Operation.MODIFY
    became = replace(
        found, operation=operation, before=arrived.version, after=left.version, content=left.content, view=None,
        size=None if left.stat is None else left.stat.size, mode=None if left.stat is None else left.stat.mode,
    )  # fmt: skip
    return [found, became]
