"""The read tracker: for each actor and path the versions it has seen, its base text, and the changes by others.

A version is *seen* when the actor has read it, sent it, or made it from its base. A version that was only *reported* in a
result contains text of others that the actor has not seen; it stands for the base that the actor had then. The base of a path
is that of its newest row.

Rows are kept in memory and saved to the journal within a second, or when the workspace closes. So are texts that nothing
else keeps, unless no other process can have the actor: these stay in memory. If the text of a base is gone, a write that
needs it for a merge is refused.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from operator import attrgetter
from typing import Final, TypeAlias

from msgspec import Struct, field, structs

from filetools.content.version import version_of
from filetools.errors import VersionGoneError
from filetools.journal.journal import Journal
from filetools.journal.seen_versions import MOST_SEEN, MOST_SEEN_OF_PATH, SeenVersion
from filetools.models.records import (
    DIRECTORY_REMOVALS,
    WITHOUT_BYTES,
    Actor,
    ChangedFile,
    ChangeRecord,
    Operation,
    RecordState,
)
from filetools.paths.workspace_path import WorkspacePath

MOST_ACTORS: Final = 1000
"""Actors in memory; the least recently active one is dropped, and loaded from the journal when it returns."""
LARGEST_TEXT_BYTES: Final = 1024 * 1024
"""Larger texts are not kept for seen versions alone."""
REFRESH_SECONDS: Final = 60.0
"""How often repeated reads of the same version are recorded."""

_without_time: Final = attrgetter("version", "base", "is_whole", "encoding")
Rows: TypeAlias = dict[str, SeenVersion]
"""By version, newest last; never changed in place."""
Span: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""A part of a text: line and character, from 1, of its start, and of its end (exclusive)."""
END_OF_FILE: Final = (2**62, 1)
_UNSEEN: Final = (Operation.CREATE_DIRECTORY, *WITHOUT_BYTES)
"""Operations that do not change a file that an actor may have seen."""


class _Seen(Struct):
    """What one actor has seen, and the changes to report to it."""

    paths: OrderedDict[str, Rows] = field(default_factory=OrderedDict)
    count: int = 0
    is_loaded: bool = False
    forgotten: set[str] = field(default_factory=set)
    """Keys whose rows in the journal are obsolete."""
    changed: OrderedDict[str, ChangedFile] = field(default_factory=OrderedDict)
    spans: dict[str, tuple[str, list[Span]]] = field(default_factory=dict)
    """By key: a version of which only parts were read, and these parts."""

    def has_all(self, key: str, version: str, span: Span) -> bool:
        """Note that a part was read; True if all parts have been."""
        known = self.spans.get(key, ("", []))
        merged: list[Span] = []
        for start, end in sorted([*(known[1] if known[0] == version else ()), span]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        self.spans[key] = (version, merged)
        return merged[0] == ((1, 1), END_OF_FILE)

    def drop(self, key: str) -> None:
        self.count -= len(self.paths.pop(key, {}))
        for table in (self.changed, self.spans):
            table.pop(key, None)
        if not self.is_loaded:
            self.forgotten.add(key)

    def add_change(self, key: str, change: ChangedFile) -> None:
        rows = self.paths.get(key)
        if rows is None:
            return
        self.changed.pop(key, None)
        known = _newest(rows)
        if change.version not in (known.version, known.base):  # a record of another process may arrive after its file
            self.changed[key] = change


class ReadTracker:
    """What the actors of one workspace have seen. Thread-safe."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.RLock()
        self._actors: OrderedDict[str, _Seen] = OrderedDict()
        self._unsaved: list[tuple[str, str, SeenVersion | None]] = []
        self._ephemeral: set[str] = set()
        self._held, self._waiting = _Texts(MOST_HELD_BYTES), _Texts(MOST_WAITING_BYTES)
        """By version: texts that may stay in memory while there is room, and texts to save to the journal."""
        self._saving = threading.Lock()

    @property
    def is_new(self) -> bool:
        """True if there is anything to save."""
        return bool(self._waiting or self._unsaved)

    def record_seen(
        self,
        actor: Actor,
        key: str,
        version: str,
        *,
        content: bytes | memoryview | None = None,
        is_whole: bool = True,
        span: Span | None = None,
        encoding: str | None = None,
    ) -> None:
        """Record that an actor read or sent a text of a path, which becomes its base.

        Reading a part does not replace a base of another version that is known as a whole: the actor's next write is based
        on that, and lines that it has not seen must not count as deleted.

        Args:
            actor: Who read or sent it.
            key: Lock key of the path.
            version: The text's version.
            content: Its bytes, unless the journal already keeps them.
            is_whole: True for the whole text.
            span: The part that was read; once all parts have been read, they count as the whole.
            encoding: Codec that the actor gave, also used for its next writes.
        """
        if not is_whole and span is not None:
            with self._lock:
                is_whole = self._seen(owner_of(actor)).has_all(key, version, span)
        row = SeenVersion(version=version, base=version, is_whole=is_whole, time=time.time(), encoding=encoding)
        rows: tuple[SeenVersion, ...] = (row,)
        if not is_whole and (known := self.base(actor, key)) is not None and known.is_whole:
            # Add the row of the current base again, so that it stays the newest.
            again = structs.replace(known, time=row.time + 1e-6)
            rows = (structs.replace(row, is_whole=True),) if known.base == version else (row, again)
        self._add(actor, key, rows, version, content)

    def record_reported(self, actor: Actor, key: str, version: str, *, base: str | None = None) -> None:
        """Record that a result named a version that contains text of others, which the actor has not seen.

        It stands for `base`, a version that the actor has seen, or for the actor's base; without one nothing is recorded.
        """
        known = self._rows(owner_of(actor), key).get(base) if base is not None else self.base(actor, key)
        if known is not None:
            self._add(actor, key, (structs.replace(known, version=version, time=time.time()),), None, None)

    def record_made(
        self, actor: Actor, key: str, before: str | None, after: str, *, content: bytes | None = None
    ) -> None:
        """Record that an actor changed one version into another; if the first was its base, the second becomes its base."""
        known = self.base(actor, key)
        if before is None:
            self.record_seen(actor, key, after, content=content)
        elif known is not None and known.base == before:
            row = structs.replace(known, version=after, base=after, time=time.time())
            self._add(actor, key, (row,), after, content)
        else:
            self.record_reported(actor, key, after)

    def base(self, actor: Actor, key: str) -> SeenVersion | None:
        """Return the base of an actor's next write of a path. Call it in a worker thread, unless the actor is loaded."""
        rows = self._rows(owner_of(actor), key)
        return _newest(rows) if rows else None

    def rows(self, actor: Actor, key: str) -> tuple[SeenVersion, ...]:
        """Return all rows of an actor and path, newest last; call it as `base`."""
        return tuple(self._rows(owner_of(actor), key).values())

    def forget(self, actor: Actor, key: str) -> None:
        """Forget the rows of a path that the actor has deleted."""
        self._replace(owner_of(actor), key, {})

    def forget_below(self, actor: Actor, key: str) -> None:
        """Forget the rows of everything in a folder that the actor has deleted."""
        for known in self._below(actor, key):
            self.forget(actor, known)

    def end_with_process(self, actor: Actor) -> None:
        """Declare that no other process can have this actor, so that its texts can stay in memory."""
        self._ephemeral.add(owner_of(actor))

    def forget_ephemeral(self) -> None:
        """Delete the rows of such actors from the journal; call it in a worker thread, after the last `save`."""
        known = [owner for owner in self._ephemeral if owner in self._actors]
        if known:
            self._journal.seen_versions.forget(known)

    def move(self, actor: Actor, key: str, new_key: str) -> None:
        """Move the rows of a path that the actor has moved, replacing those of the target."""
        owner = owner_of(actor)
        rows = self._rows(owner, key)
        if new_key != key:
            self._replace(owner, key, {})
            self._replace(owner, new_key, rows)

    def move_below(self, actor: Actor, key: str, new_key: str) -> None:
        """Move the rows of everything in a folder that the actor has moved."""
        self.forget_below(actor, new_key)
        for known in self._below(actor, key):
            self.move(actor, known, new_key + known[len(key) :])

    def notice(self, records: Iterable[ChangeRecord], key_of: Callable[[WorkspacePath], str]) -> None:
        """Note new records, for each actor in memory that has seen their files and did not make them."""
        with self._lock:
            for record in records:
                # A found file is a change, too, for an actor that has read another text of it.
                if record.operation not in _UNSEEN and record.state is not RecordState.ABORTED:
                    self._notice(record, key_of)

    def take_changed(self, actor: Actor) -> tuple[ChangedFile, ...]:
        """Return the changes to report to an actor, oldest first, and forget them."""
        with self._lock:
            seen = self._actors.get(owner_of(actor), _Seen())
            taken, seen.changed = seen.changed, OrderedDict()
        return tuple(taken.values())

    def is_loaded(self, actor: Actor) -> bool:
        """True if what an actor has seen in earlier openings is in memory."""
        seen = self._actors.get(owner_of(actor))
        return seen is not None and seen.is_loaded

    def load(self, actor: Actor) -> None:
        """Load what an actor has seen in earlier openings, and note changes since; call it in a worker thread."""
        self._loaded(owner_of(actor))

    def text(self, version: str) -> bytes | None:
        """Return the bytes of a version in a row; None if they are not kept. Call it in a worker thread."""
        with self._lock:
            content = self._held.get(version, self._waiting.get(version))
        if content is None:
            with suppress(VersionGoneError):
                return self._journal.contents.get(version)
            return None
        return content if version_of(content) == version else None

    def save(self) -> None:
        """Save new rows and texts to the journal; call it in a worker thread."""
        with self._saving:
            with self._lock:
                texts, rows = dict(self._waiting), self._unsaved
                self._unsaved = []
            try:
                self._journal.contents.keep_read(texts)
                self._journal.seen_versions.save(rows)
            except BaseException:
                with self._lock:
                    self._unsaved[:0] = rows
                raise
            with self._lock:
                for version in texts:
                    self._waiting.release(version)
                busy = {owner for owner, _, _ in self._unsaved}
                while len(self._actors) > MOST_ACTORS and next(iter(self._actors)) not in busy:
                    self._actors.popitem(last=False)

    def _add(
        self,
        actor: Actor,
        key: str,
        rows: tuple[SeenVersion, ...],
        version: str | None,
        content: bytes | memoryview | None,
    ) -> None:
        """Add rows, newest last; `version` is the text that the actor has seen, if any, and `content` its bytes."""
        owner = owner_of(actor)
        with self._lock:
            seen = self._seen(owner)
            if version is not None:
                seen.changed.pop(key, None)  # the actor has seen a newer text
            former = seen.paths.get(key, {})
            if _is_repeated(former, rows):
                seen.paths.move_to_end(key)
                return
            self._put(owner, seen, key, added(former, rows))
            self._unsaved.extend((owner, key, row) for row in rows)
            if version is not None and content is not None and len(content) <= LARGEST_TEXT_BYTES:
                self._hold(owner, version, bytes(content))

    def _hold(self, owner: str, version: str, content: bytes) -> None:
        texts = {version: content}
        if owner in self._ephemeral:
            texts = self._held.hold(texts)
        self._waiting.hold(texts)

    def _replace(self, owner: str, key: str, rows: Rows) -> None:
        """Replace an actor's rows of a path."""
        with self._lock:
            seen = self._seen(owner)
            self._forget(owner, seen, key)
            if rows:
                self._put(owner, seen, key, rows)
                self._unsaved.extend((owner, key, row) for row in rows.values())

    def _put(self, owner: str, seen: _Seen, key: str, rows: Rows) -> None:
        seen.count += len(rows) - len(seen.paths.pop(key, {}))
        seen.paths[key] = rows
        while seen.count > MOST_SEEN and len(seen.paths) > 1:
            self._forget(owner, seen, next(iter(seen.paths)))

    def _forget(self, owner: str, seen: _Seen, key: str) -> None:
        seen.drop(key)
        self._unsaved.append((owner, key, None))

    def _rows(self, owner: str, key: str) -> Rows:
        return self._loaded(owner).paths.get(key, {})

    def _below(self, actor: Actor, key: str) -> list[str]:
        seen = self._loaded(owner_of(actor))
        with self._lock:
            return [known for known in seen.paths if known.startswith(f"{key}/")]

    def _seen(self, owner: str) -> _Seen:
        seen = self._actors.get(owner)
        if seen is None:
            seen = self._actors[owner] = _Seen()
        self._actors.move_to_end(owner)
        return seen

    def _loaded(self, owner: str) -> _Seen:
        with self._lock:
            seen = self._seen(owner)
        return seen if seen.is_loaded else self._load(owner, seen)

    def _load(self, owner: str, seen: _Seen) -> _Seen:
        kept: dict[str, Rows] = {}
        for key, row in self._journal.seen_versions.of(owner):
            kept[key] = added(kept.get(key, {}), (row,))
        heads = self._journal.seen_versions.heads(owner)
        with self._lock:
            if seen.is_loaded:
                return seen
            newer, seen.paths, seen.count = seen.paths, OrderedDict(), 0
            seen.is_loaded = True
            for key, rows in kept.items():
                if key not in seen.forgotten:
                    self._put(owner, seen, key, rows)
            for key, rows in newer.items():
                self._put(owner, seen, key, added(seen.paths.get(key, {}), tuple(rows.values())))
            seen.forgotten = set()
            for key, path, by, version in heads:
                if owner_of(by) != owner and key not in newer:
                    seen.add_change(key, ChangedFile(path=path, by=by, version=version))
        return seen

    def _notice(self, record: ChangeRecord, key_of: Callable[[WorkspacePath], str]) -> None:
        author = owner_of(record.actor)
        others = [seen for owner, seen in self._actors.items() if owner != author]
        if not others:
            return
        key = key_of(WorkspacePath(record.path))
        by = structs.replace(record.actor, call=None)
        changes = {key: ChangedFile(path=record.path, by=by, version=record.after)}
        gone = key
        if record.old_path is not None:
            gone = key_of(WorkspacePath(record.old_path))
            changes.setdefault(gone, ChangedFile(path=record.old_path, by=by, version=None))
        for seen in others:
            if record.operation in DIRECTORY_REMOVALS:
                below = (each for each in seen.paths if each.startswith(f"{gone}/"))
                changes = {each: ChangedFile(path=each, by=by, version=None) for each in below}
            for each, change in changes.items():
                seen.add_change(each, change)


def owner_of(actor: Actor) -> str:
    """Return the read tracker's name of an actor; each session has its own."""
    return f"{actor.kind}\0{actor.id}\0{actor.session or ''}"


def added(former: Rows, rows: tuple[SeenVersion, ...]) -> Rows:
    """Return rows with newer ones appended, without the oldest ones beyond the limit."""
    kept = {**former}
    for row in rows:
        kept.pop(row.version, None)
        kept[row.version] = row
    for oldest in list(kept)[:-MOST_SEEN_OF_PATH]:
        del kept[oldest]
    return kept


def _newest(rows: Rows) -> SeenVersion:
    return next(reversed(rows.values()))


def _is_repeated(former: Rows, rows: tuple[SeenVersion, ...]) -> bool:
    newest = [*islice(reversed(former.values()), len(rows))]
    is_same = list(map(_without_time, newest)) == list(map(_without_time, reversed(rows)))
    return is_same and rows[-1].time - newest[0].time < REFRESH_SECONDS


MOST_HELD_BYTES: Final = 32 * 1024 * 1024
"""Texts that stay in memory; beyond this limit the least recently used are saved to the journal."""
MOST_WAITING_BYTES: Final = 256 * 1024 * 1024
"""Texts waiting in memory to be saved; beyond this limit the least recently used are dropped."""


class _Texts(OrderedDict[str, bytes]):
    """Texts by version, least recently used first, of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def hold(self, texts: Mapping[str, bytes]) -> dict[str, bytes]:
        """Add texts; returns the least recently used ones, which are beyond the limit."""
        beyond = {}
        for version, content in texts.items():
            self.release(version)
            self[version] = content
            self._left -= len(content)
        while self._left < 0:
            version, content = self.popitem(last=False)
            beyond[version] = content
            self._left += len(content)
        return beyond

    def release(self, version: str) -> None:
        self._left += len(self.pop(version, b""))
