"""Keeps unexpected bytes as a version of their path that was never its head."""

from __future__ import annotations

from collections.abc import Callable

from filetools.content.version import version_of
from filetools.journal.changes import Change
from filetools.journal.journal import Journal
from filetools.models.records import EXTERNAL, Operation
from filetools.paths.workspace_path import WorkspacePath


def keep_aside(journal: Journal, key: Callable[[WorkspacePath], str], path: WorkspacePath, content: bytes) -> None:
    """Record bytes as a version of a path that was never its head; call it in a worker thread."""
    change = Change(
        operation=Operation.MODIFY,
        path=path,
        key=key(path),
        before_unknown=True,
        after=version_of(content),
        content=content,
        size=len(content),
        aside=True,
        external=True,
    )
    journal.commit([change], EXTERNAL)
