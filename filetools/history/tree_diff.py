"""Differences between two checkpoints, or between a checkpoint and the current tree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import compress, repeat
from typing import Final, Literal

from msgspec import Struct, structs

from filetools.changes.parts import Parts
from filetools.content.differences.diff import unified_diff
from filetools.content.facts import text_of
from filetools.content.patching.file_patch import quoted_name
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.history.draft_tree import EntryNames, within
from filetools.history.selection import MOST_NUMBER
from filetools.journal.checkpoints import Checkpoint, SnapshotRow, Tree
from filetools.journal.records import RecordFilter
from filetools.models.history import ActorChanges, TreeChange, TreeChangeKind, TreeDiffResult
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind
from filetools.paths.workspace_path import ROOT, WorkspacePath

LARGEST_DIFFED_BYTES: Final = 1024 * 1024
"""Larger files have no diff."""
MOST_DIFF_CHARACTERS: Final = 4 * 1024 * 1024
"""Most characters of all diffs in one result; further files have none."""
_MODE: Final = "100{:o}"
_REVERSED: Final[Mapping[TreeChangeKind, TreeChangeKind]] = {"added": "deleted", "deleted": "added"}
Hands = dict[tuple[ActorKind, str], Actor]
"""Actors by kind and id, the first one to change something first."""
Omitted = Literal["binary", "too large", "too many", "not kept", "withheld"]
Patch = tuple[str | None, Omitted | None]


class WholeTree(Struct, frozen=True):
    """The whole tree at one moment."""

    checkpoint: Checkpoint | None
    """None for the current tree."""
    rows: Tree
    unread: frozenset[str] = frozenset()
    """Paths that could not be read."""


def diff_tree(
    parts: Parts, actor: Actor, old: WholeTree, new: WholeTree, *, below: WorkspacePath, limit: int, patch: bool,
    is_exact: bool,
) -> TreeDiffResult:  # fmt: skip
    """Compare two states of the tree. Call it in a worker thread.

    Args:
        parts: The workspace.
        actor: The actor who asks.
        old: The state to start from; a checkpoint.
        new: The state to end at.
        below: Only this file, or the entries of this folder.
        limit: Most changes in the result.
        patch: True to add the diffs of texts.
        is_exact: True for diffs that compare bytes, as git does, for programs.
    """
    assert old.checkpoint is not None
    differences = [
        each
        for each in _differences(parts, old, new)
        if any(below.is_root or below in within(row.path) for row in (each.old, each.new) if row is not None)
        and new.unread.isdisjoint(within(each.row.path))
    ]
    # A path may be in only one state because other ignore rules held.
    has_same_rules = old.rows.get(ROOT) == new.rows.get(ROOT)
    is_known = [has_same_rules or bool(each.actors) or each.change not in ("added", "deleted") for each in differences]
    found = list(compress(differences, is_known))
    patches: Iterator[Patch] = _patches(parts, actor, found, is_exact=is_exact) if patch else repeat((None, None))
    changes = [_change(each, *shown) for each, shown in zip(found[:limit], patches, strict=False)]
    return TreeDiffResult(
        old=old.checkpoint.name,
        old_time=old.checkpoint.time,
        new=None if new.checkpoint is None else new.checkpoint.name,
        new_time=None if new.checkpoint is None else new.checkpoint.time,
        changes=changes,
        total=len(found),
        counts=dict(Counter(each.change for each in found)),
        by_actor=_by_actor(found),
        unread=sorted(new.unread),
        unknown=sorted(each.row.path for each, known in zip(differences, is_known, strict=True) if not known),
    )


def _differences(parts: Parts, old: WholeTree, new: WholeTree) -> list[Difference]:
    assert old.checkpoint is not None
    since, until = old.checkpoint.number, None if new.checkpoint is None else new.checkpoint.number
    if until is not None and until < since:
        return [
            structs.replace(each, change=_REVERSED.get(each.change, each.change), old=each.new, new=each.old)
            for each in _differences(parts, new, old)
        ]
    history = parts.journal.history
    records = history.select(RecordFilter(since=since + 1, until=until), limit=MOST_NUMBER)
    undos = history.related(record.number for record in records).keys()
    before, after = ({key: row for key, row in state.rows.items() if key != ROOT} for state in (old, new))
    return compare_trees(before, after, records[::-1], undos, parts.workspace.key)


def _by_actor(found: list[Difference]) -> list[ActorChanges]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for each in found:
        for actor in each.actors or (EXTERNAL,):
            counts[actor.kind, actor.id][each.change] += 1
    most = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    return [ActorChanges(kind=kind, id=name, changes=dict(changes)) for (kind, name), changes in most]


def _change(difference: Difference, diff: str | None, omitted: Omitted | None) -> TreeChange:
    old, new, row = difference.old, difference.new, difference.row
    return TreeChange(
        path=row.path,
        change=difference.change,
        kind=row.kind,
        old_path=None if old is None or old.path == row.path else old.path,
        old_kind=None if old is None or old.kind == row.kind else old.kind,
        old_version=None if old is None else old.version,
        version=None if new is None else new.version,
        old_size=None if old is None or old.kind != "file" else old.size,
        size=None if new is None or new.kind != "file" else new.size,
        old_mode=_mode(old),
        mode=_mode(new),
        actors=[{"kind": actor.kind, "id": actor.id} for actor in difference.actors or (EXTERNAL,)],
        diff=diff,
        diff_omitted=omitted,
    )


def _mode(row: SnapshotRow | None) -> str | None:
    return None if row is None or row.mode is None else f"{row.mode:o}"


def _patches(parts: Parts, actor: Actor, found: Iterable[Difference], *, is_exact: bool) -> Iterator[Patch]:
    """Yield the diff of each change in git's format, or the reason why it is omitted; neither for folders and links."""
    is_withheld = parts.gatekeeper.policy.withholding(actor, "diff", "read_file") or (lambda _path: False)
    left = MOST_DIFF_CHARACTERS
    for each in found:
        old, new = each.old, each.new
        rows = [row for row in (old, new) if row is not None]
        if any(row.kind != "file" for row in rows):
            yield None, None
            continue
        head = "".join(f"{line}\n" for line in _headers(old, new))
        if old is not None and new is not None and old.version == new.version:
            yield head, None
        elif left <= 0:
            yield None, "too many"
        elif any(is_withheld(WorkspacePath(row.path)) for row in rows):
            yield None, "withheld"
        elif any((row.size or 0) > LARGEST_DIFFED_BYTES for row in rows):
            yield None, "too large"
        else:
            try:
                before, after = (_text(parts, row, is_exact=is_exact) for row in (old, new))
            except FileToolsError:
                yield None, "not kept"
                continue
            if before is None or after is None:
                yield None, "binary"
                continue
            names = ("/dev/null" if row is None else f"{side}/{row.path}" for side, row in (("a", old), ("b", new)))
            text = head + unified_diff(before, after, *names, is_exact=is_exact)
            left -= len(text)
            yield text, None


def _text(parts: Parts, row: SnapshotRow | None, *, is_exact: bool) -> str | None:
    """Return the text of a file, "" for a missing file, None for a binary one.

    Raises:
        FileToolsError: Its bytes are not kept, and the current file has others.
    """
    if row is None or row.version is None:
        return ""
    if not parts.journal.contents.has(row.version):
        content, _ = parts.store.read(WorkspacePath(row.path), limit=LARGEST_DIFFED_BYTES)
        if version_of(content) == row.version:
            return compared_text(content, row.path, is_exact=is_exact)
    return compared_text(parts.journal.contents.get(row.version), row.path, is_exact=is_exact)


def compared_text(content: bytes, path: str, *, is_exact: bool) -> str | None:
    """Return the text that a diff compares, with bytes as surrogate escapes if `is_exact`; None for a binary file."""
    if not is_exact:
        return text_of(content, name=path)
    return None if b"\0" in content else content.decode("utf-8", "surrogateescape")


def _headers(old: SnapshotRow | None, new: SnapshotRow | None) -> Iterator[str]:
    """Yield the lines above the hunks: git's extended header."""
    paths = [row.path for row in (old, new) if row is not None]
    yield f"diff --git {quoted_name(f'a/{paths[0]}')} {quoted_name(f'b/{paths[-1]}')}"
    modes = [_MODE.format(0o644 if row is None or row.mode is None else row.mode) for row in (old, new)]
    if old is None:
        yield f"new file mode {modes[1]}"
    elif new is None:
        yield f"deleted file mode {modes[0]}"
    elif modes[0] != modes[1]:
        yield f"old mode {modes[0]}"
        yield f"new mode {modes[1]}"
    if old is not None and new is not None and old.path != new.path:
        yield f"rename from {quoted_name(old.path)}"
        yield f"rename to {quoted_name(new.path)}"


class Difference(Struct, frozen=True):
    """The net change of one entry."""

    change: TreeChangeKind
    old: SnapshotRow | None
    new: SnapshotRow | None
    actors: tuple[Actor, ...]
    """All who changed it; empty if no record names it."""

    @property
    def row(self) -> SnapshotRow:
        """The new row; the old one if it was deleted."""
        row = self.new or self.old
        assert row is not None
        return row


def compare_trees(
    old: Tree, new: Tree, records: Iterable[ChangeRecord], undos: Set[int], key_of: Callable[[str], str]
) -> list[Difference]:
    """Return the differences between two trees, sorted by path.

    Args:
        old: Rows of the old tree, by key.
        new: Rows of the new tree.
        records: The records in between, oldest first.
        undos: Numbers of those that undo or redo others.
        key_of: Returns the key of a path.
    """
    gone, came = old.keys() - new.keys(), new.keys() - old.keys()
    kinds = {key: kind for key in old.keys() & new.keys() if (kind := _kind_of_change(old[key], new[key])) is not None}
    names = EntryNames()
    first = {key: names.at(key) for key in gone | kinds.keys()}
    origins = {entry: key for key, entry in first.items()}
    hands = _hands(names, records, undos, key_of)
    moves = {
        key: source for key in came
        if (source := origins.get(names.at(key))) in gone and old[source].kind == new[key].kind
    }  # fmt: skip
    pairs: list[tuple[TreeChangeKind, str | None, str | None]] = [
        *((kind, key, key) for key, kind in kinds.items()),
        *(
            ("moved", source, key)
            for key, source in moves.items()
            if not _has_moved_along(key, old[source], new[key], source, moves)
        ),
        *(("deleted", key, None) for key in gone.difference(moves.values())),
        *(("added", None, key) for key in came - moves.keys()),
    ]
    found: list[Difference] = []
    for change, source, key in pairs:
        who = {
            **({} if source is None else hands.get(first[source], {})),
            **({} if key is None else hands.get(names.at(key), {})),
        }
        row, other = None if source is None else old[source], None if key is None else new[key]
        found.append(Difference(change, row, other, tuple(who.values())))
    return sorted(found, key=lambda each: each.row.path)


def _hands(
    names: EntryNames, records: Iterable[ChangeRecord], undos: Set[int], key_of: Callable[[str], str]
) -> dict[int, Hands]:
    """Advance the names over some records, and return who has changed each entry; what an undo creates is not another one."""
    hands = defaultdict[int, Hands](dict)
    for record in records:
        if record.state is RecordState.BUFFER:
            continue
        key, operation = key_of(record.path), record.operation
        if operation in (Operation.CREATE, Operation.CREATE_DIRECTORY) and record.number not in undos:
            names.forget(key)
        if record.old_path is not None:
            names.move(key_of(record.old_path), key)
        is_whole = operation in (Operation.MOVE_DIRECTORY, Operation.DELETE_DIRECTORY)
        for each in names.below(key) if is_whole else [key]:
            hands[names.at(each)].setdefault((record.actor.kind, record.actor.id), record.actor)
    return hands


def _kind_of_change(old: SnapshotRow, new: SnapshotRow) -> TreeChangeKind | None:
    if old.kind != new.kind:
        return "kind"
    if old.version != new.version:
        return "modified"
    if old.path != new.path:
        return "moved"  # only the case differs
    return "mode" if None not in (old.mode, new.mode) and old.mode != new.mode else None


def _has_moved_along(key: str, old: SnapshotRow, new: SnapshotRow, source: str, moves: Mapping[str, str]) -> bool:
    """True if an entry only moved along with its folder, unchanged."""
    folder, _, name = key.rpartition("/")
    return (
        folder in moves
        and f"{moves[folder]}/{name}" == source
        and _kind_of_change(structs.replace(old, path=new.path), new) is None
    )
