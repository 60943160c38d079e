"""What dead processes and late writers left: swept by the keeper, and nothing of it thrown away unread.

A displaced file that some program still had open for writing waits in limbo under the number of the record that displaced
it. When it is quiet, its last bytes are journaled as that program's save, with the head on top of them again: the path's
history then tells what happened, and `read_file(version=…)` gives the text back.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import structs

from filetools.content.version import version_of
from filetools.errors import DiskFullError, FileToolsError, LockTimeoutError
from filetools.facade.parts import Parts
from filetools.journal.changes import Change, HeadMovedError
from filetools.models.records import SYSTEM, ChangeRecord, Operation
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced

_log = logging.getLogger(__name__)
_LIMBO_NAME: Final = re.compile(r".*/limbo/(\d+)-[0-9a-f]+")
_OWNER: Final = "sweep"


LateSave = tuple[WorkspacePath, bytes, Displaced]
"""A quiet file in limbo with bytes that nobody has seen before: whose last bytes they are, these, and the file."""


async def sweep(parts: Parts, tell: Callable[[Sequence[ChangeRecord]], None]) -> None:
    """Remove what nobody comes back for; what a late writer saved becomes a version of its path first."""
    for late in await parts.crew.run(partial(_sweep, parts)):
        path = late[0]
        key = parts.workspace.key(path)
        try:
            async with parts.locks.hold([key], path=path, owner=_OWNER, timeout_seconds=2.0):
                records = await parts.crew.run(partial(_keep, parts, late, key))
        except (DiskFullError, LockTimeoutError, HeadMovedError):
            continue  # it stays in limbo until the next round
        tell(records)


def _sweep(parts: Parts) -> list[LateSave]:
    late = []
    for leftover in parts.store.leftovers():
        try:
            late += _look(parts, leftover)
        except FileToolsError as exc:
            _log.warning("a temporary file stays for now: %s", exc)
    return late


def _look(parts: Parts, leftover: Displaced) -> list[LateSave]:
    if leftover.stat.type == "file":
        if leftover.is_being_written():
            return []
        content = leftover.read()
        version = version_of(content)
        if content and not parts.journal.contents.has(version):
            match = _LIMBO_NAME.fullmatch(leftover.temporary)
            number = 0 if match is None else int(match[1])
            if number > parts.journal.visible_position():
                return []  # the record that displaced it, or one before, is still being applied
            for record in parts.journal.records(number - 1, limit=1) if number else ():
                if record.number == number:
                    return [(parts.workspace.resolve(record.path), content, leftover)]
            parts.journal.contents.keep(content, version)
    leftover.discard()
    return []


def _keep(parts: Parts, late: LateSave, key: str) -> tuple[ChangeRecord, ...]:
    path, content, file = late
    view = parts.journal.view(key)
    head = view.head.version if view.head is not None else None
    save = Change(
        operation=Operation.CREATE if head is None else Operation.MODIFY,
        path=path,
        key=key,
        before=head,
        after=version_of(content),
        content=content,
        size=len(content),
        mode=file.stat.mode,
        view=view,
        applied=True,
        external=True,
    )
    size, mode = (view.head.size, view.head.mode) if view.head is not None else (None, None)
    on_top = structs.replace(
        save,
        operation=Operation.DELETE if head is None else Operation.MODIFY,
        before=save.after,
        after=head,
        content=None,
        size=size,
        mode=mode,
        view=None,
        external=False,
    )
    records = parts.journal.commit([save, on_top], SYSTEM)
    file.discard()
    return records
