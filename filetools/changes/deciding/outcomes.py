"""Converts outcomes of the pipeline into results of calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from filetools.changes.decision import PutDecision
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep
from filetools.changes.steps.look import Look
from filetools.changes.steps.pipeline import Outcome
from filetools.changes.steps.step import Step
from filetools.models.files import DeleteResult, DirectoryResult, EditResult, MoveResult, WriteResult


def number_of(step: Step) -> int | None:
    """Return the journal number of a step's change; None without a change, and in a transaction that has not ended."""
    return None if step.record is None else step.record.number or None


def write_result(step: PutFile, outcome: Outcome) -> WriteResult:
    """Return the result of one file's new bytes."""
    decision, unchanged = step.decision, step.record is None
    return WriteResult(
        path=step.path,
        bytes_written=len(decision.content) if decision.added_bytes is None else decision.added_bytes,
        created=step.seen.stat is None and not decision.in_buffer,
        version=decision.told_version,
        disk_version=_disk_version(step.seen, decision),
        in_buffer=decision.in_buffer,
        replaced_version=None if unchanged or decision.in_buffer else step.seen.version,
        unchanged=unchanged,
        merged=decision.is_merged,
        foreign=list(decision.foreign),
        newline=decision.newline,
        number=number_of(step),
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )


def edit_result(
    seen: Look, decision: PutDecision, outcome: Outcome | None = None, number: int | None = None
) -> EditResult:
    """Return the result of one change of a file's text; without an outcome it was a dry run."""
    report = decision.report
    assert report is not None
    before = seen.version or "" if decision.shown is None else decision.shown.before
    return EditResult(
        path=seen.path,
        version=decision.told_version,
        replaced_version=before,
        counts=list(report.counts),
        structured_patch=list(report.hunks),
        dry_run=outcome is None,
        unchanged=decision.told_version == before,
        in_buffer=decision.in_buffer,
        disk_version=_disk_version(seen, decision),
        number=number,
        mirror="off" if outcome is None else outcome.mirror,
        warnings=[*repaired(report.repairs), *(() if outcome is None else outcome.warnings)],
    )


def repaired(repairs: Iterable[str]) -> list[dict[str, Any]]:
    """Return the warnings about edits that were applied although they did not match exactly."""
    return [{"code": "REPAIRED", "message": repair} for repair in repairs]


def _disk_version(seen: Look, decision: PutDecision) -> str | None:
    """Return the version of the file, where reads return another text than the file's."""
    if decision.in_buffer:
        return seen.version
    return None if decision.told_version == decision.facts.version else decision.facts.version


def delete_result(step: RemoveFile | RemoveFolderStep, outcome: Outcome) -> DeleteResult:
    """Return the result of a deletion."""
    return DeleteResult(
        path=step.paths[0],
        deleted_version=step.seen.version if isinstance(step, RemoveFile) and not step.seen.is_opaque else None,
        entries=step.entries if isinstance(step, RemoveFolderStep) else 1,
        number=number_of(step),
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )


def move_result(step: MoveFile | MoveFolder, outcome: Outcome) -> MoveResult:
    """Return the result of a move."""
    ends = step.seen if isinstance(step, MoveFile) else None
    return MoveResult(
        source=step.paths[0],
        destination=step.paths[1],
        version=ends[0].version if ends is not None and not ends[0].is_opaque else None,
        replaced_version=ends[1].version if ends is not None and ends[0].key != ends[1].key else None,
        number=number_of(step),
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )


def directory_result(step: MakeFolderStep, outcome: Outcome) -> DirectoryResult:
    """Return the result of a folder's creation."""
    return DirectoryResult(
        path=step.paths[0],
        created=step.record is not None,
        number=number_of(step),
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )
