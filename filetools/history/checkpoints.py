"""Makes checkpoints: snapshots of the whole tree, also automatic ones before the first change of each session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import filterfalse
from typing import Final

from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner
from filetools.changes.tree_look import TreeLook, compared
from filetools.content.version import version_of
from filetools.errors import FileToolsError, WorkspaceGoneError
from filetools.journal.checkpoints import Checkpoint, SnapshotRow, Tree
from filetools.locks.deadline import uncounted
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

PREFIX: Final = "auto: "
"""Prefix of the names of automatic checkpoints."""

_log = logging.getLogger(__name__)


def take(
    parts: Parts, name: str, seen: TreeLook, *, replace: bool = False, automatic: bool = False
) -> tuple[Checkpoint, list[str], list[str]] | None:
    """Save the tree that a look has seen as a checkpoint. Call it in a worker thread.

    Returns:
        The checkpoint; the paths of files that are too large to be kept; and the paths that could not be read, or changed
        meanwhile. None if the name is taken.
    """
    too_large, changed = dict[str, str](), dict[str, str]()

    def keep(tree: Tree) -> set[str]:
        """Keep the bytes; returns the keys of the rows whose bytes are not kept."""
        too_large.clear()
        changed.clear()
        parts.journal.contents.keep_all(_missing(parts, tree, seen, too_large, changed))
        return {key for key, row in tree.items() if row.version in too_large or row.version in changed}

    made = parts.journal.checkpoints.save(
        name, partial(compared, parts, seen), replace=replace, automatic=automatic, keep=keep
    )
    return None if made is None else (made, sorted(too_large.values()), sorted({*seen.unread, *changed.values()}))


def _missing(
    parts: Parts, tree: Tree, seen: TreeLook, too_large: dict[str, str], changed: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the versions of files and links whose bytes are not kept yet, with their bytes.

    Adds to `too_large` the versions of files that are too large, with a path of each; and to `changed` those of files that
    have changed since the look, or cannot be read.
    """
    files = {row.version: row for row in tree.values() if row.kind in ("file", "symlink") and row.version is not None}
    most_bytes, left = parts.settings.snapshot_max_file_bytes, parts.settings.snapshot_max_bytes - seen.kept_bytes
    for version in filterfalse(parts.journal.contents.has, files):
        row = files[version]
        if (row.size or 0) > min(most_bytes, left):
            too_large[version] = row.path
        elif (content := _content_of(parts, row, most_bytes)) is None:
            changed[version] = row.path
        else:
            left -= len(content)
            yield version, content


def _content_of(parts: Parts, row: SnapshotRow, most_bytes: int) -> bytes | None:
    """Return the bytes of a row's version; None if the file has changed, or cannot be read."""
    path = WorkspacePath(row.path)
    with suppress(FileToolsError):
        content = parts.store.read_link(path) if row.kind == "symlink" else parts.store.read(path, limit=most_bytes)[0]
        return content if version_of(content) == row.version else None
    return None


class SessionCheckpoints:
    """Makes a checkpoint before the first change of each session, if the settings ask for it. One per opened workspace."""

    def __init__(self, runner: CallRunner) -> None:
        self._runner = runner
        self._made: set[str] = set()
        self._making = asyncio.Lock()

    async def before_change(self, actor: Actor) -> None:
        """Wait until the checkpoint before this actor's session is made, or has failed; later calls return at once.

        Waiting does not count against the time limit of a tool call.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        session = actor.session
        if session is None or session in self._made or self._runner.parts.settings.auto_checkpoint == "off":
            return
        with uncounted():
            async with self._making:
                if session not in self._made:
                    await self._runner.while_open(self._make(session))
                    self._made.add(session)

    async def _make(self, session: str) -> None:
        parts, name = self._runner.parts, f"{PREFIX}{session}"
        try:
            # It may have been made by another process, or before the workspace was opened.
            if await parts.workers.run(partial(parts.journal.checkpoints.get, name)) is None:
                seen = await self._runner.look_at_tree(keep=True)
                await parts.workers.run(partial(take, parts, name, seen, automatic=True))
        except WorkspaceGoneError:
            raise
        except FileToolsError as exc:
            # The change is not refused: an undo can take it back without a checkpoint.
            _log.warning("no checkpoint was made before session %r: %s", session, exc)
