"""The leader's sweep of temporary and displaced files that crashed processes and late writers left.

A displaced file that a program still had open for writing stays in `.filetools/displaced`, named by the
number of the record that displaced it. When it is no longer written, its bytes are recorded as that program's save,
followed by the head again: they are in the path's history, and `read_file(version=…)` returns them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner
from filetools.changes.steps.step import foreign_save
from filetools.content.version import version_of
from filetools.errors import DiskFullError, FileToolsError, LockTimeoutError
from filetools.journal.records import Change
from filetools.models.records import SYSTEM, ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced

_log = logging.getLogger(__name__)
_DISPLACED_NAME: Final = re.compile(r".*/displaced/(\d+)-[0-9a-f]+")
_OWNER: Final = "sweep"
WAIT_SECONDS: Final = 2.0


LateSave = tuple[WorkspacePath, bytes, Displaced]
"""A file in `.filetools/displaced` that is no longer written, and is not kept yet: its path, its bytes, and the file."""


async def sweep(runner: CallRunner) -> None:
    """Remove files that are no longer in use, after recording the bytes of late writers as versions of their paths."""
    for late in await runner.parts.workers.run(partial(_sweep, runner.parts)):
        with suppress(DiskFullError, LockTimeoutError):  # the file stays until the next round
            await runner.record(partial(_keep, runner.parts, late), late[0], _OWNER, WAIT_SECONDS)


def _sweep(parts: Parts) -> list[LateSave]:
    late = []
    for leftover in parts.store.leftovers():
        try:
            late += _look(parts, leftover)
        except FileToolsError as exc:
            _log.warning("a temporary file could not be swept: %s", exc)
    return late


def _look(parts: Parts, leftover: Displaced) -> list[LateSave]:
    if leftover.stat.type == "file":
        if not leftover.is_untouched():
            return []
        content = leftover.read()
        version = version_of(content)
        if content and not parts.journal.contents.has(version):
            match = _DISPLACED_NAME.fullmatch(leftover.temporary)
            number = 0 if match is None else int(match[1])
            if number > parts.journal.positions().visible:
                return []  # the record that displaced it, or an earlier one, is not applied yet
            for record in parts.journal.records(number - 1, limit=1) if number else ():
                if record.number == number:
                    return [(parts.workspace.resolve(record.path), content, leftover)]
            parts.journal.contents.keep(content, version)
    leftover.discard()
    return []


def _keep(parts: Parts, late: LateSave) -> Sequence[ChangeRecord]:
    path, content, file = late
    key = parts.workspace.key(path)
    head = parts.view(key).head
    version, size, mode = (None, None, None) if head is None else (head.version, head.size, head.mode)
    head_again = Change(
        operation=Operation.DELETE if version is None else Operation.MODIFY, path=path, key=key, after=version,
        size=size, mode=mode, applied=True,
    )  # fmt: skip
    records = parts.journal.commit(foreign_save(content, file.stat.mode, head_again), SYSTEM)
    with suppress(FileToolsError):  # the next sweep discards it, because its bytes are kept
        file.discard()
    return records
