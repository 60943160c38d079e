"""What actors should hear: files that they know and others have changed since they read or wrote them.

Noticing looks into memory only, and only for actors that this process works for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from filetools.journal import DIRECTORY_REMOVALS, Stamp
from filetools.models import Actor, ChangeRecord, Operation, RecordState
from filetools.paths import WorkspacePath

MOST_FILES: Final = 10_000
"""Files of one actor that are followed; those it got to know longest ago are no longer."""
MOST_ACTORS: Final = 1000
"""Actors that are followed; of those that have been silent longest nothing is noticed any more."""
KeyOf = Callable[[WorkspacePath], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that somebody else has changed since an actor read or wrote it."""

    path: str
    by: Actor
    """Who changed it last."""
    version: str | None
    """What it became; None if it is gone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without what is None."""
        by = {"kind": self.by.kind, "id": self.by.id, "session": self.by.session}
        plain = {"path": self.path, "by": {name: value for name, value in by.items() if value is not None}}
        return plain | ({"version": self.version} if self.version is not None else {"deleted": True})


@dataclass(slots=True, kw_only=True)
class _Known:
    """What one actor knows, and what it should hear."""

    files: OrderedDict[str, tuple[str, int]] = field(default_factory=OrderedDict)
    """By key: the version, and the number of the newest record that is in it for certain."""
    wrote: dict[str, int] = field(default_factory=dict)
    """By key: the number of the actor's own newest record."""
    changed: OrderedDict[str, ChangedFile] = field(default_factory=OrderedDict)


class News:
    """What the actors of one process should hear. Lives as long as the workspace is open; safe in every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._actors: OrderedDict[str, _Known] = OrderedDict()

    def know(self, owner: str, key: str, version: str) -> None:
        """Follow a file whose text an actor knows now; what was to be told of it is out of date."""
        with self._lock:
            known = self._known(owner)
            known.files[key] = (version, known.wrote.pop(key, 0))
            known.files.move_to_end(key)
            known.changed.pop(key, None)
            if len(known.files) > MOST_FILES:
                known.files.popitem(last=False)

    def forget(self, owner: str, key: str) -> None:
        """Follow a file no longer."""
        with self._lock:
            known = self._actors.get(owner)
            if known is not None:
                for table in (known.files, known.wrote, known.changed):
                    table.pop(key, None)

    def recall(self, owner: str, stamps: Mapping[str, Stamp], changed: Mapping[str, ChangedFile]) -> None:
        """Follow what an actor knew before this opening, and tell it what has changed since.

        Args:
            owner: The actor.
            stamps: What it knew, by key.
            changed: What stands there now, by key, where that is another version by somebody else.
        """
        with self._lock:
            known = self._known(owner)
            for key, stamp in stamps.items():
                if key in known.files or len(known.files) >= MOST_FILES:
                    continue  # got to know meanwhile, which is newer
                known.files[key] = (stamp.version, 0)
                known.files.move_to_end(key, last=False)
                if key in changed:
                    known.changed[key] = changed[key]

    def notice(self, records: Iterable[ChangeRecord], key_of: KeyOf) -> None:
        """Put new records on the lists of those who know their files, except whoever made them."""
        if not self._actors:
            return
        with self._lock:
            for record in records:
                # A file that is found is news, too, where an actor has read another text of it.
                if record.operation is not Operation.CREATE_DIRECTORY and record.state is not RecordState.ABORTED:
                    self._notice(record, key_of)

    def take(self, owner: str) -> tuple[ChangedFile, ...]:
        """Return what an actor should hear, the oldest first, and forget it."""
        known = self._actors.get(owner)
        if known is None or not known.changed:
            return ()
        with self._lock:
            taken, known.changed = known.changed, OrderedDict()
        return tuple(taken.values())

    def _notice(self, record: ChangeRecord, key_of: KeyOf) -> None:
        author = owner_of(record.actor)
        if len(self._actors) == 1 and author in self._actors:
            listeners = []
        else:
            listeners = [known for owner, known in self._actors.items() if owner != author]
        writer = self._actors.get(author)
        if not listeners and writer is None:
            return
        key = key_of(WorkspacePath(record.path))
        if writer is not None and key in writer.files:
            writer.wrote[key] = record.number
        for known in listeners:
            if record.operation in DIRECTORY_REMOVALS:
                gone = key if record.old_path is None else key_of(WorkspacePath(record.old_path))
                for below in [each for each in known.files if each.startswith(f"{gone}/")]:
                    _put(known, below, record, path=below, version=None)
            else:
                _put(known, key, record, path=record.path, version=record.after)
                if record.old_path is not None:
                    old_key = key_of(WorkspacePath(record.old_path))
                    if old_key != key:
                        _put(known, old_key, record, path=record.old_path, version=None)

    def _known(self, owner: str) -> _Known:
        known = self._actors.get(owner)
        if known is None:
            known = self._actors[owner] = _Known()
            if len(self._actors) > MOST_ACTORS:
                self._actors.popitem(last=False)
        else:
            self._actors.move_to_end(owner)
        return known


def _put(known: _Known, key: str, record: ChangeRecord, *, path: str, version: str | None) -> None:
    version_and_number = known.files.get(key)
    if version_and_number is None or record.number <= version_and_number[1]:
        return
    known.changed.pop(key, None)
    if version != version_and_number[0]:  # records of other processes come later than what an actor read of them
        by = Actor(kind=record.actor.kind, id=record.actor.id, session=record.actor.session)
        known.changed[key] = ChangedFile(path=path, by=by, version=version)


def owner_of(actor: Actor) -> str:
    """Return the name under which an actor's stamps are kept; each of its sessions knows for itself."""
    return "\0".join((actor.kind, actor.id, actor.session or ""))
