"""What differs between two states of the whole tree: net changes, with moves, and who had a hand in each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from msgspec import Struct

from filetools.journal.checkpoints import SnapshotRow
from filetools.models.history import TreeChangeKind
from filetools.models.records import Actor, ChangeRecord, Operation, RecordState
from filetools.models.words import ActorKind

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
        change = _change(old[key], new[key])
        if change is not None:
            found.append(Difference(change, old[key], new[key], story.actors(key)))
    return sorted(found, key=lambda each: each.path)


def _change(old: SnapshotRow, new: SnapshotRow) -> TreeChangeKind | None:
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
        self._hands_below: dict[str, Hands] = defaultdict(dict)
        """Who moved or deleted a folder, with all in it."""

    def tell(self, record: ChangeRecord) -> None:
        """Take in what happened next."""
        key = self._key_of(record.path)
        who: Hands = {(record.actor.kind, record.actor.id): record.actor}
        if record.old_path is not None:
            source = self._key_of(record.old_path)
            self._move(source, key, is_folder=record.operation is Operation.MOVE_DIRECTORY)
            self._hands[source].update(who)
            if record.operation is Operation.MOVE_DIRECTORY:
                self._hands_below[source].update(who)
                self._hands_below[key].update(who)
        elif record.operation is Operation.DELETE:
            original = self.places.pop(key, None)
            if original is not None and original != key:
                self._hands[original].update(self._hands[key] | who)
        elif record.operation is Operation.CREATE:
            self.places.pop(key, None)
        elif record.operation is Operation.DELETE_DIRECTORY:
            self._hands_below[key].update(who)
        self._hands[key].update(who)

    def actors(self, *keys: str) -> tuple[Actor, ...]:
        """Return who had a hand in what bore these keys."""
        found: Hands = {}
        for key in keys:
            found |= self._hands.get(key, {})
            folder = key
            while folder := folder.rpartition("/")[0]:
                found |= self._hands_below.get(folder, {})
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
