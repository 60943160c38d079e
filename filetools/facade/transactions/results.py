"""The result of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.pipeline import Outcome
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
from filetools.models.result import Result
from filetools.models.words import MirrorStatus


class TransactedPath(Result):
    """What a transaction changed at one path: the net effect of all its calls there."""

    path: str
    operation: str
    """As in the feed: "create", "modify", "delete", "move", "create_directory" and so on."""
    old_path: str | None = None
    """Where it was, after a move."""
    number: int
    """Journal number of the change."""
    version: str | None = None
    """Version after the transaction; None for folders, and for files that are gone."""
    replaced_version: str | None = None
    """Version that was replaced or deleted; its bytes stay readable by that version."""
    merged: bool = False
    """True if the transaction's text was merged with what others had written meanwhile."""
    foreign: list[dict[str, Any]] = Field(default_factory=list)
    """After a merge, the hunks that the file has and the transaction's text has not."""


class TransactionResult(Result):
    """What a transaction changed, all or nothing."""

    changes: list[TransactedPath] = Field(default_factory=list)
    """Every path that it changed, in the order of the journal."""
    number: int | None = None
    """Journal number of its last change; None if it changed nothing."""
    mirror: MirrorStatus = "off"
    warnings: list[dict[str, Any]] = Field(default_factory=list)


def result_of(steps: Sequence[Step], outcome: Outcome) -> TransactionResult:
    """Return the result of a transaction that was applied."""
    changes = []
    for step, record in zip(steps, outcome.changes, strict=True):
        if record is None:
            continue
        decision = step.decision if isinstance(step, PutFile) else None
        replaced = step.looks[-1].version if isinstance(step, PutFile | RemoveFile | MoveFile) else None
        changes.append(
            TransactedPath(
                path=record.path,
                operation=record.operation.value,
                old_path=record.old_path,
                number=record.number,
                version=record.after,
                replaced_version=replaced,
                merged=decision is not None and decision.merged,
                foreign=[] if decision is None else list(decision.foreign),
            )
        )
    return TransactionResult(
        changes=changes,
        number=changes[-1].number if changes else None,
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )
