"""What differs between two checkpoints, or a checkpoint and what stands there now, over the whole tree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, compress
from typing import Final, Literal

from msgspec import Struct, structs

from filetools.content.differences.diff import unified_diff
from filetools.content.facts import text_of
from filetools.content.patching.file_patch import quoted_name
from filetools.content.version import version_of
from filetools.errors import FileToolsError
from filetools.facade.background.tree_look import TreeLook
from filetools.facade.history.checkpoints import snapshot_of
from filetools.facade.parts import Parts
from filetools.journal.checkpoints import Checkpoint, SnapshotRow
from filetools.models.history import ActorChanges, TreeChange, TreeChangeKind, TreeDiffResult
from filetools.models.records import EXTERNAL, Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.versions.draft_tree import within
from filetools.versions.selection import changes_after

LARGEST_DIFFED_BYTES: Final = 1024 * 1024
"""Files above this size have no diff."""
MOST_DIFF_CHARACTERS: Final = 4 * 1024 * 1024
"""Characters of all diffs of one result; the files after have none."""
_MODE: Final = "100{:o}"
Omitted = Literal["binary", "too large", "too many", "not kept", "withheld"]


class WholeTree(Struct, frozen=True):
    """What stood in the whole tree at a moment."""

    number: int
    """Number of the newest record that it shows."""
    rows: Mapping[str, SnapshotRow]
    checkpoint: Checkpoint | None = None
    """None of what stands there now."""
    unread: tuple[str, ...] = ()
    """Paths of which nothing is known."""

    @classmethod
    def standing(cls, seen: TreeLook) -> WholeTree:
        """Return what a look has met."""
        return cls(seen.position, snapshot_of(seen), None, tuple(sorted({*seen.closed, *seen.moving, *seen.unnamed})))


def diff_tree(
    parts: Parts, actor: Actor, old: WholeTree, new: WholeTree, *, below: WorkspacePath, limit: int, patch: bool,
    is_exact: bool,
) -> TreeDiffResult:  # fmt: skip
    """Compare two states of the tree, for a worker thread.

    Args:
        parts: The workspace.
        actor: Who asks.
        old: The state to start from; a checkpoint.
        new: The one to end at.
        below: Only this file, or what is in this folder.
        limit: Most changes.
        patch: Whether the changes of texts are shown.
        is_exact: Whether they are shown for programs: byte by byte, as git compares files.
    """
    assert old.checkpoint is not None
    differences = [
        each
        for each in _differences(parts, old, new)
        if _concerns(each, below)
        and not any(each.path == path or each.path.startswith(f"{path}/") for path in new.unread)
    ]
    # What is in one state alone may be so because other ignore rules held.
    has_same_rules = old.rows.get(ROOT) == new.rows.get(ROOT)
    is_known = [has_same_rules or bool(each.actors) or each.change not in ("added", "deleted") for each in differences]
    found = list(compress(differences, is_known))
    patches = _Patches(parts, actor, is_now=new.checkpoint is None, is_exact=is_exact)
    changes = [_change(each, *(patches.of(each) if patch else (None, None))) for each in found[:limit]]
    return TreeDiffResult(
        old=old.checkpoint.name,
        old_time=old.checkpoint.time,
        new=None if new.checkpoint is None else new.checkpoint.name,
        new_time=None if new.checkpoint is None else new.checkpoint.time,
        changes=changes,
        total=len(found),
        counts=dict(Counter(each.change for each in found)),
        by_actor=_by_actor(found),
        unread=list(new.unread),
        unknown=sorted(each.path for each, known in zip(differences, is_known, strict=True) if not known),
    )


def _differences(parts: Parts, old: WholeTree, new: WholeTree) -> list[Difference]:
    first, last = (old, new) if new.checkpoint is None or old.number <= new.number else (new, old)
    records = changes_after(parts.journal.history, first.number)[::-1]
    if last.checkpoint is not None:
        records = [record for record in records if record.number <= last.number]
    before, after = ({key: row for key, row in state.rows.items() if key != ROOT} for state in (first, last))
    found = compare_trees(before, after, records, parts.workspace.key)
    return found if first is old else [_reversed(each) for each in found]


def _reversed(difference: Difference) -> Difference:
    change = difference.change
    if change in ("added", "deleted"):
        change = "deleted" if change == "added" else "added"
    return structs.replace(difference, change=change, old=difference.new, new=difference.old)


def _concerns(difference: Difference, below: WorkspacePath) -> bool:
    paths = [row.path for row in (difference.old, difference.new) if row is not None]
    return below.is_root or any(path == below or path.startswith(f"{below}/") for path in paths)


def _by_actor(found: list[Difference]) -> list[ActorChanges]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for each in found:
        for actor in each.actors or (EXTERNAL,):
            counts[actor.kind, actor.id][each.change] += 1
    most = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    return [ActorChanges(kind=kind, id=name, changes=dict(changes)) for (kind, name), changes in most]


def _change(difference: Difference, diff: str | None, omitted: Omitted | None) -> TreeChange:
    old, new = difference.old, difference.new
    row = new or old
    assert row is not None
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


class _Patches:
    """Shows the changes of texts as git does, up to so much in all. Lives for one result."""

    def __init__(self, parts: Parts, actor: Actor, *, is_now: bool, is_exact: bool) -> None:
        self._parts = parts
        self._is_withheld = parts.gatekeeper.policy.withholding(actor, "diff", "read_file")
        self._is_now = is_now
        self._is_exact = is_exact
        self._left = MOST_DIFF_CHARACTERS

    def of(self, difference: Difference) -> tuple[str | None, Omitted | None]:
        """Return the diff of a change, or why there is none; neither where no bytes and no mode of a file have changed."""
        old, new = difference.old, difference.new
        if any(row is not None and row.kind != "file" for row in (old, new)):
            return None, None
        head = "".join(f"{line}\n" for line in _headers(old, new))
        if old is not None and new is not None and old.version == new.version:
            return head, None
        if self._left <= 0:
            return None, "too many"
        paths = [WorkspacePath(row.path) for row in (old, new) if row is not None]
        if self._is_withheld is not None and any(map(self._is_withheld, paths)):
            return None, "withheld"
        if any((row.size or 0) > LARGEST_DIFFED_BYTES for row in (old, new) if row is not None):
            return None, "too large"
        try:
            before, after = self._text(old, is_now=False), self._text(new, is_now=self._is_now)
        except FileToolsError:
            return None, "not kept"
        if before is None or after is None:
            return None, "binary"
        names = ("/dev/null" if row is None else f"{side}/{row.path}" for side, row in (("a", old), ("b", new)))
        text = head + unified_diff(before, after, *names, is_exact=self._is_exact)
        self._left -= len(text)
        return text, None

    def _text(self, row: SnapshotRow | None, *, is_now: bool) -> str | None:
        """Return the text of a file, "" if it is not there, None if it is binary.

        Raises:
            FileToolsError: Its bytes are not kept, or not what stands there any more.
        """
        if row is None or row.version is None:
            return ""
        if is_now and not self._parts.journal.contents.has(row.version):
            content, _ = self._parts.store.read(WorkspacePath(row.path), limit=LARGEST_DIFFED_BYTES)
            if version_of(content) == row.version:
                return compared_text(content, row.path, is_exact=self._is_exact)
        return compared_text(self._parts.journal.contents.get(row.version), row.path, is_exact=self._is_exact)


def compared_text(content: bytes, path: str, *, is_exact: bool) -> str | None:
    """Return what a diff compares of a file: its text, or if exact its bytes as surrogate escapes; None if it is binary."""
    if not is_exact:
        return text_of(content, name=path)
    return None if b"\0" in content else content.decode("utf-8", "surrogateescape")


def _headers(old: SnapshotRow | None, new: SnapshotRow | None) -> Iterator[str]:
    """Yield the lines above the hunks, as git's extended headers have them."""
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


Tree = Mapping[str, SnapshotRow]
Hands = dict[tuple[ActorKind, str], Actor]
"""Actors by kind and id, the first one first."""


class Difference(Struct, frozen=True):
    """What has become of one path."""

    change: TreeChangeKind
    old: SnapshotRow | None
    new: SnapshotRow | None
    actors: tuple[Actor, ...]
    """Who had a hand in it; nobody if no record tells of it."""

    @property
    def path(self) -> str:
        """Where it is, or was if it is gone."""
        row = self.new or self.old
        assert row is not None
        return row.path


def compare_trees(
    old: Tree, new: Tree, records: Iterable[ChangeRecord], key_of: Callable[[str], str]
) -> list[Difference]:
    """Return what differs, in the order of paths.

    Args:
        old: What stood in the tree, by key.
        new: What stands there.
        records: What happened in between, oldest first.
        key_of: Gives the key of a path.
    """
    story = _Story(old, key_of)
    for record in records:
        if record.state is not RecordState.BUFFER:
            story.tell(record)
    gone = {key: row for key, row in old.items() if key not in new}
    came = {key: row for key, row in new.items() if key not in old}
    moves = dict(_moves(gone, came, story.places))
    found = [
        Difference("moved", old[source], new[key], story.actors(key, source))
        for key, source in moves.items()
        if not _has_moved_along(key, old[source], new[key], source, moves)
    ]
    sources = set(moves.values())
    found += [Difference("deleted", row, None, story.actors(key)) for key, row in gone.items() if key not in sources]
    found += [Difference("added", None, row, story.actors(key)) for key, row in came.items() if key not in moves]
    for key in old.keys() & new.keys():
        change = _kind_of_change(old[key], new[key])
        if change is not None:
            found.append(Difference(change, old[key], new[key], story.actors(key)))
    return sorted(found, key=lambda each: each.path)


def _kind_of_change(old: SnapshotRow, new: SnapshotRow) -> TreeChangeKind | None:
    if old.kind != new.kind:
        return "kind"
    if old.version != new.version:
        return "modified"
    if old.path != new.path:
        return "moved"  # to another case
    return "mode" if _modes_differ(old, new) else None


def _modes_differ(old: SnapshotRow, new: SnapshotRow) -> bool:
    return None not in (old.mode, new.mode) and old.mode != new.mode


def _moves(gone: Tree, came: Tree, places: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield new and old key of what has moved: as records tell, else where the same bytes went from one place to one other."""
    left, sources = dict(came), dict(gone)
    for key, row in came.items():
        source = places.get(key)
        if source in sources and sources[source].kind == row.kind:
            del left[key], sources[source]
            yield key, source
    for by_name in (True, False):
        pairs = _by_content(sources, by_name=by_name), _by_content(left, by_name=by_name)
        for content in pairs[0].keys() & pairs[1].keys():
            if len(pairs[0][content]) == len(pairs[1][content]) == 1:
                source, key = pairs[0][content][0], pairs[1][content][0]
                del left[key], sources[source]
                yield key, source


def _by_content(rows: Tree, *, by_name: bool) -> dict[tuple[str | None, str], list[str]]:
    found: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for key, row in rows.items():
        if row.kind == "file" and row.size:  # of two empty files nobody can tell that they are one
            found[row.version, row.path.rpartition("/")[2] if by_name else ""].append(key)
    return found


def _has_moved_along(key: str, old: SnapshotRow, new: SnapshotRow, source: str, moves: Mapping[str, str]) -> bool:
    """Whether something is where it is because a folder above it moved, and nothing else happened to it."""
    folder, _, name = key.rpartition("/")
    return (
        folder in moves
        and f"{moves[folder]}/{name}" == source
        and old.version == new.version
        and not _modes_differ(old, new)
    )


class _Story:
    """What records tell: where each file of the old tree is now, and who worked on which key."""

    def __init__(self, old: Tree, key_of: Callable[[str], str]) -> None:
        self._key_of = key_of
        self.places: dict[str, str] = {key: key for key in old}
        """Key in the old tree, by the key that it has now."""
        self._hands: dict[str, Hands] = defaultdict(dict)
        """By key; with a slash behind it, who moved or deleted a folder with all in it."""

    def tell(self, record: ChangeRecord) -> None:
        """Take in what happened next."""
        key = self._key_of(record.path)
        who: Hands = {(record.actor.kind, record.actor.id): record.actor}
        if record.old_path is not None:
            source = self._key_of(record.old_path)
            if record.operation is Operation.MOVE_DIRECTORY:
                self._hands[f"{source}/"].update(who)
            self._move(source, key, is_folder=record.operation is Operation.MOVE_DIRECTORY)
            self._hands[source].update(who)
        elif record.operation is Operation.DELETE:
            original = self.places.pop(key, None)
            if original is not None and original != key:
                self._hands[original].update(self._hands[key] | who)
        elif record.operation is Operation.CREATE:
            self.places.pop(key, None)
        elif record.operation is Operation.DELETE_DIRECTORY:
            self._hands[f"{key}/"].update(who)
        self._hands[key].update(who)

    def actors(self, *keys: str) -> tuple[Actor, ...]:
        """Return who had a hand in what bore these keys."""
        found: Hands = {}
        for key in keys:
            for name in (key, *(f"{folder}/" for folder in [*within(key)][1:])):
                found |= self._hands.get(name, {})
        return tuple(found.values())

    def _move(self, source: str, key: str, *, is_folder: bool) -> None:
        moved = [source]
        if is_folder:
            moved += [each for each in chain(self.places, self._hands) if each.startswith(f"{source}/")]
        for each in dict.fromkeys(moved):
            target = key + each[len(source) :]
            self.places.pop(target, None)
            if each in self.places:
                self.places[target] = self.places.pop(each)
            if each in self._hands:
                self._hands[target] = self._hands[target] | self._hands[each]
