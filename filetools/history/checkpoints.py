"""Checkpoints, which are snapshots of the whole tree: making them, and restoring them.

After all records since a checkpoint are inverted, the draft is made equal to the snapshot. The records say which folders and
links are restored from the trash, and what was moved. Where they do not lead to the snapshot, the snapshot wins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from functools import partial
from itertools import filterfalse
from typing import Final

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.changes.runner import CallRunner
from filetools.changes.tree_look import TreeLook, compared
from filetools.content.version import version_of
from filetools.errors import AccessDeniedError, FileToolsError, InvalidArgumentError, WorkspaceGoneError
from filetools.history.draft_tree import DraftNode, DraftTree, within
from filetools.history.undo import UndoFinding
from filetools.journal.checkpoints import Checkpoint, SnapshotRow, Tree
from filetools.locks.deadline import uncounted
from filetools.models.records import Actor, Operation
from filetools.paths.workspace_path import ROOT, WorkspacePath

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

    def __init__(self) -> None:
        self._made: set[str] = set()
        self._making = asyncio.Lock()

    async def before_change(self, runner: CallRunner, actor: Actor) -> None:
        """Wait until the checkpoint before this actor's session is made, or has failed; later calls return at once.

        Waiting does not count against the time limit of a tool call.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        session = actor.session
        if session is None or session in self._made or runner.parts.settings.auto_checkpoint == "off":
            return
        with uncounted():
            async with self._making:
                if session not in self._made:
                    await runner.while_open(self._make(runner, session))
                    self._made.add(session)

    async def _make(self, runner: CallRunner, session: str) -> None:
        parts, name = runner.parts, f"{PREFIX}{session}"
        try:
            # It may have been made by another process, or before the workspace was opened.
            if await parts.workers.run(partial(parts.journal.checkpoints.get, name)) is None:
                seen = await runner.look_at_tree(keep=True)
                await parts.workers.run(partial(take, parts, name, seen, automatic=True))
        except WorkspaceGoneError:
            raise
        except FileToolsError as exc:
            # The change is not refused: an undo can take it back without a checkpoint.
            _log.warning("no checkpoint was made before session %r: %s", session, exc)


class RestoreTarget(Struct, frozen=True):
    """The checkpoint that is restored."""

    number: int
    """Number of the newest record before it."""
    tree: Mapping[str, SnapshotRow]
    """Its rows, by key."""
    now: Mapping[str, SnapshotRow]
    """Rows of the current tree."""
    seen: TreeLook
    """What could not be determined of it."""
    path: WorkspacePath = ROOT
    """Only this path, with all below it, is restored; the root is everything."""

    def covers(self, *paths: str | None) -> bool:
        """True if all of these paths are restored."""
        return self.path.is_root or all(path is None or self.path in within(path) for path in paths)


def completed(
    parts: Parts, tree: DraftTree, findings: list[UndoFinding], target: RestoreTarget
) -> tuple[list[UndoFinding], Mapping[str, FileToolsError]]:
    """Make a draft in which all records since the checkpoint are inverted equal to the snapshot, or to a part of it.

    Returns:
        The findings, with one for each path that stays although it is not in the snapshot; and the paths that cannot be
        read, with the reason.
    """
    met, closed = _complete(parts, tree, target)
    left = {key for key in map(tree.key, met) if key not in tree.drafted}
    findings = [
        finding for finding in findings if any(left.isdisjoint(within(tree.key(place))) for place in finding.places)
    ]
    if not target.path.is_root:
        tree.keep_within(target.path)
        findings = [
            each for each in findings if all(target.covers(record.path, record.old_path) for record in each.records)
        ]
    unknown = sorted(path for path in {*met, *target.seen.unnamed} if target.covers(path))
    covered = {row.path for row in target.tree.values() if row.kind != "other"}
    findings = [
        structs.replace(finding, outcome="undone")
        if finding.path not in unknown and (finding.path in covered or tree.at(finding.path) is None)
        else finding
        for finding in findings
    ]
    refused = {path: AccessDeniedError(path) for path in closed if target.covers(path)}
    return [*(UndoFinding(records=(), path=path, outcome="unknown") for path in unknown), *findings], refused


def _complete(parts: Parts, tree: DraftTree, target: RestoreTarget) -> tuple[set[str], set[str]]:
    """Make a draft equal to a snapshot.

    Returns:
        The paths that are not in the snapshot and whose origin is unknown, so that they stay; and the paths that cannot be
        read and that, or whose entries, differ from the snapshot.
    """
    rows, sources = target.tree, {tree.key(node.source) for _, node in tree.drafted.values() if node is not None}
    unknown = _repositories(tree, target.now, rows, sources)
    for path in unknown:
        tree.leave(path)
    repositories = set(map(tree.key, unknown))
    refused: set[str] = set()
    seen, is_left_out = target.seen, parts.observer.is_left_out
    # If the same ignore rules held, a path that is not in the snapshot was not in the tree.
    is_same_scope = ROOT in rows and rows[ROOT].version == seen.scope
    closed = {tree.key(path): path for path in seen.closed}
    for key, row in rows.items():
        standing = target.now.get(key)
        facts = None if standing is None else (standing.kind, standing.mode, standing.version)
        if row.kind == "other" or (facts == (row.kind, row.mode, row.version) and key not in tree.drafted):
            continue
        if (place := next((each for each in within(key) if each in closed), None)) is not None:
            tree.put(row.path, tree.standing(row.path))
            refused.add(closed[place])
        else:
            _put(tree, row)
    # Entries of the draft that are not in the snapshot and not ignored.
    beyond = {key: row.path for key, row in target.now.items() if key not in rows and key != ROOT}
    for key, (path, node) in tree.drafted.items():
        if key not in rows and node is not None and node.kind != "other" and not is_left_out(path):
            beyond[key] = path
    # The entries of a folder before the folder.
    for key, path in sorted(beyond.items(), reverse=True):
        node = tree.at(path)
        if node is None or not repositories.isdisjoint(within(key)):
            continue
        standing = target.now.get(key)
        if standing is not None and standing.kind != "directory" and standing.version is None:
            unknown.add(path)  # it cannot be read
        elif node.kind == "directory":
            if next(iter(tree.below(path)), None) is None:
                tree.put(path, None)
        elif (is_same_scope and not is_left_out(path)) or _came_since(parts, target.number, key):
            tree.put(path, None)
        else:
            unknown.add(path)
            if node.source == path and node.version is not None and not parts.journal.contents.has(node.version):
                tree.leave(path)
    return unknown, refused


def _repositories(
    tree: DraftTree, now: Mapping[str, SnapshotRow], rows: Mapping[str, SnapshotRow], sources: Set[str]
) -> set[str]:
    """Return what has come to be a repository since the snapshot: a restore must not take one apart.

    That is a folder that is not in the snapshot, or was empty, and holds a repository; of other folders only the file `.git`.
    None of them is one of the `sources` of moves, which are keys.
    """
    filled = {folder for key in rows for folder in within(key.rpartition("/")[0])} | {ROOT}
    new = {key: row.path for key, row in now.items() if key not in filled and key not in sources}
    folders = {path for key, path in new.items() if now[key].kind == "directory"}
    return {path for path in folders if tree.standing(f"{path}/.git") is not None} | {
        path
        for key, path in new.items()
        if key not in rows and path.rpartition("/")[2] == ".git" and key.rpartition("/")[0] in filled
    }


def _put(tree: DraftTree, row: SnapshotRow) -> None:
    """Draft an entry of the snapshot."""
    here = tree.at(row.path)
    if here is not None and here.kind != row.kind:
        here = None
    if row.kind == "directory":
        if here is None or row.mode not in (None, here.mode):
            tree.put(row.path, structs.replace(here or DraftNode(kind=row.kind), mode=row.mode))
        return
    mode = row.mode if row.kind == "file" else None
    if here is not None and row.kind == "symlink" and here.origin is not None and here.origin.top == row.path:
        here = None  # created, and not restored from the trash, so that a redo knows how to remove it
    if here is None or tree.version(here) != row.version:
        origin = None if here is None else here.origin
        tree.put(row.path, DraftNode(kind=row.kind, origin=origin, version=row.version or "", mode=mode))
    elif here.mode != mode:
        tree.put(row.path, structs.replace(tree.with_bytes(here), mode=mode))


def require_known(target: RestoreTarget, name: str, key: Callable[[WorkspacePath], str]) -> None:
    """Refuse to restore an unknown path.

    Raises:
        InvalidArgumentError: The path is neither in the checkpoint nor in the tree.
    """
    top = key(target.path)
    if not target.path.is_root and not any(top in within(each) for rows in (target.tree, target.now) for each in rows):
        raise InvalidArgumentError(
            f"{target.path} is neither in the checkpoint {name!r} nor in the tree now",
            path=target.path,
            suggested_action="Use its path at the checkpoint, or its current path; ignored files are in neither.",
        )


def _came_since(parts: Parts, number: int, key: str) -> bool:
    """True if the first record of a path after record `number` created it, or moved it there."""
    first = parts.journal.records(number, key=key, limit=1)
    return any(
        parts.workspace.key(each.path) == key and each.operation in (Operation.CREATE, Operation.MOVE) for each in first
    )
