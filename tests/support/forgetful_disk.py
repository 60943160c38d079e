"""A disk that forgets at a power cut what was not synced: bytes in sectors, names one by one, in any order.

What it promises is the least that a journaling file system promises. A rename is whole or not at all. Changes of one name,
or of one file's names, survive in their order. `fsync` of a file keeps its bytes, not its name; `fsync` of a folder keeps the
names in it, not its own. Everything else survives as chance has it.
"""

from __future__ import annotations

import itertools
import random
import stat
import time
from dataclasses import dataclass, field

ROOT = 1
Slot = tuple[int, str]
"""A name in a folder."""


@dataclass
class Node:
    """A file, a folder or a link: as programs see it, and as it is on the disk for certain."""

    number: int
    mode: int
    data: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    durable_mode: int = 0
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes since the last sync, as (place, bytes); without bytes it was cut to that length."""
    names: dict[str, int] = field(default_factory=dict)
    durable_names: dict[str, int] = field(default_factory=dict)
    links: int = 0
    above: int = ROOT
    """Where a folder is."""
    modified_ns: int = field(default_factory=time.time_ns)
    changed_ns: int = field(default_factory=time.time_ns)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def touch(self) -> None:
        self.modified_ns = self.changed_ns = max(time.time_ns(), self.changed_ns + 1)


@dataclass(eq=False)
class NameChange:
    """Names that change together: all of them are lost at a cut, or none."""

    slots: dict[Slot, int | None]
    changes: set[Slot | int]
    """The names, and what bears them."""
    needs: set[Slot | int]
    """What must be there as it was, if this change is: the same, and the folders above."""


class ForgetfulDisk:
    """The disk; one thread at a time uses it."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755, durable_mode=stat.S_IFDIR | 0o755)}
        self.capacity = 1 << 40
        self._numbers = itertools.count(ROOT + 1)
        self._changes: list[NameChange] = []

    @property
    def used(self) -> int:
        return sum(len(node.data) for node in self.nodes.values() if node.links)

    def new_node(self, mode: int) -> Node:
        node = Node(next(self._numbers), mode, durable_mode=mode)
        self.nodes[node.number] = node
        return node

    def rename(self, slots: dict[Slot, int | None]) -> None:
        """Change names, all at once."""
        former = [self.nodes[folder].names.get(name) for folder, name in slots]
        named = {number for number in (*former, *slots.values()) if number is not None}
        # A rename into a folder that is lost would lose what it moves, so such a folder is there, and those above it.
        above = {each for folder, _ in slots for each in self._with_those_above(folder)} if len(slots) > 1 else set()
        self._changes.append(NameChange(dict(slots), {*slots, *named}, {*slots, *named, *above}))
        for (folder, name), number in slots.items():
            names = self.nodes[folder].names
            if name in names:
                self.nodes[names.pop(name)].links -= 1
            if number is not None:
                names[name] = number
                self.nodes[number].links += 1
                self.nodes[number].above = folder
            self.nodes[folder].touch()
        for number in named:
            self.nodes[number].changed_ns = time.time_ns()

    def _with_those_above(self, folder: int) -> set[int]:
        found = {folder}
        while folder != ROOT:
            folder = self.nodes[folder].above
            found.add(folder)
        return found

    def write(self, node: Node, place: int, content: bytes) -> None:
        if len(node.data) < place:
            node.data.extend(bytes(place - len(node.data)))
        node.data[place : place + len(content)] = content
        node.unsynced.append((place, bytes(content)))
        node.touch()

    def cut_short(self, node: Node, size: int) -> None:
        del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))
        node.unsynced.append((size, None))
        node.touch()

    def sync(self, node: Node) -> None:
        node.durable_mode = node.mode
        if node.is_folder:
            self._keep_names(node.number)
        else:
            node.durable, node.unsynced = bytes(node.data), []

    def cut_power(self, chance: random.Random) -> None:
        """Forget; what is left is durable."""
        likely, lost = chance.choice((0.0, 0.3, 0.7, 1.0)), set[Slot | int]()
        for change in self._changes:
            if chance.random() < likely and not change.needs & lost:
                self._make_durable(change)
            else:
                lost |= change.changes
        self._changes = []
        for node in self.nodes.values():
            node.names = dict(node.durable_names)
            node.links = 0
            if node.unsynced:
                node.durable = _what_is_left(node, chance)
            node.data, node.unsynced = bytearray(node.durable), []
            node.mode = node.durable_mode
        for node in self.nodes.values():
            for number in node.names.values():
                self.nodes[number].links += 1

    def _keep_names(self, folder: int) -> None:
        """Make the changes of names in a folder durable, and those before that they need."""
        needed: set[Slot | int] = set()
        kept = []
        for change in reversed(self._changes):
            if change.changes & needed or any(above == folder for above, _ in change.slots):
                needed |= change.needs
                kept.append(change)
        for change in reversed(kept):
            self._make_durable(change)
        self._changes = [change for change in self._changes if change not in kept]

    def _make_durable(self, change: NameChange) -> None:
        for (folder, name), number in change.slots.items():
            if number is None:
                self.nodes[folder].durable_names.pop(name, None)
            else:
                self.nodes[folder].durable_names[name] = number


def _what_is_left(node: Node, chance: random.Random) -> bytes:
    """Return the bytes of a file after a cut: each sector or page of each write is there or not."""
    block, likely = chance.choice((512, 4096)), chance.choice((0.0, 0.5, 0.9, 1.0))
    left, size = bytearray(node.durable), len(node.durable)
    sizes = [size]
    for place, content in node.unsynced:
        if content is None:
            size = place
            if chance.random() < likely:
                del left[place:]
        else:
            size = max(size, place + len(content))
            begin = place
            while begin < place + len(content):
                end = min((begin // block + 1) * block, place + len(content))
                if chance.random() < likely:
                    left.extend(bytes(max(0, end - len(left))))
                    left[begin:end] = content[begin - place : end - place]
                begin = end
        sizes.append(size)
    size = chance.choice((chance.choice(sizes), sizes[-1]))
    return bytes(left[:size]) + bytes(size - len(left[:size]))
