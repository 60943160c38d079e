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

from msgspec import Struct, structs

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


class LateSave(Struct, frozen=True, kw_only=True):
    """A quiet file in limbo with bytes that nobody has seen before."""

    path: WorkspacePath
    content: bytes
    file: Displaced


async def sweep(parts: Parts, tell: Callable[[Sequence[ChangeRecord]], None]) -> None:
    """Remove what nobody comes back for; what a late writer saved becomes a version of its path first."""
    for late in await parts.crew.run(partial(_sweep, parts)):
        key = parts.workspace.key(late.path)
        try:
            async with parts.locks.hold([key], path=late.path, owner=_OWNER, timeout_seconds=2.0):
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
            if _is_early(parts, leftover):
                return []
            path = _path_of(parts, leftover)
            if path is not None:
                return [LateSave(path=path, content=content, file=leftover)]
            parts.journal.contents.keep(content, version)
    leftover.discard()
    return []


def _is_early(parts: Parts, leftover: Displaced) -> bool:
    """Whether the record that displaced it cannot be read yet, since it or one before it is still being applied."""
    match = _LIMBO_NAME.fullmatch(leftover.temporary)
    return match is not None and int(match[1]) > parts.journal.visible_position()


def _path_of(parts: Parts, leftover: Displaced) -> WorkspacePath | None:
    match = _LIMBO_NAME.fullmatch(leftover.temporary)
    if match is None:
        return None
    records = parts.journal.records(int(match[1]) - 1, limit=1, newest_first=False)
    if not records or records[0].number != int(match[1]):
        return None
    return parts.workspace.resolve(records[0].path)


def _keep(parts: Parts, late: LateSave, key: str) -> tuple[ChangeRecord, ...]:
    view = parts.journal.view(key)
    head = view.head.version if view.head is not None else None
    save = Change(
        operation=Operation.CREATE if head is None else Operation.MODIFY,
        path=late.path,
        key=key,
        before=head,
        after=version_of(late.content),
        content=late.content,
        size=len(late.content),
        mode=late.file.stat.mode,
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
    late.file.discard()
    return records
