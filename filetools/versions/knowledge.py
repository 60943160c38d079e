"""What actors know: a stamp for each path an actor has read or written, and the texts that stamps need.

Stamps live in memory and reach the journal within a second, or when the workspace closes; so do texts that nothing else
keeps. Without its text a stamp cannot be a base, and a write that needs it is refused rather than guessed at.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Final, TypeGuard

from filetools.content import version_of
from filetools.errors import VersionGoneError
from filetools.journal import Journal, Stamp
from filetools.models import Actor
from filetools.versions.news import ChangedFile, News, owner_of

MOST_STAMPS: Final = 10_000
"""Stamps of one actor; the one not used longest goes first."""
MOST_TOLD: Final = 16
"""Versions of one path that were named to one actor together with others' unsaved text."""
LARGEST_TEXT_BYTES: Final = 1024 * 1024
"""Larger texts are not kept for stamps alone."""
MOST_TEXT_BYTES: Final = 256 * 1024 * 1024
"""Texts that wait in memory to be kept; beyond it the oldest go."""


class Knowledge:
    """The stamps of all actors of one workspace. Lives as long as it is open; safe in every thread."""

    def __init__(self, journal: Journal) -> None:
        self.news = News()
        """What actors should hear of the changes of others."""
        self._journal = journal
        self._lock = threading.Lock()
        self._stamps: dict[str, OrderedDict[str, Stamp]] = {}
        self._unsaved: dict[tuple[str, str], Stamp | None] = {}
        self._saving: dict[tuple[str, str], Stamp | None] = {}
        self._edited: dict[tuple[str, str], str] = {}
        self._told: OrderedDict[tuple[str, str], deque[str]] = OrderedDict()
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._text_bytes = 0

    @property
    def is_new(self) -> bool:
        """Whether there is anything to save."""
        return bool(self._unsaved or self._texts)

    def note(
        self,
        actor: Actor,
        key: str,
        version: str,
        *,
        content: bytes | None = None,
        is_whole: bool = True,
        encoding: str | None = None,
    ) -> None:
        """Note that an actor knows this text of a path now.

        A part of a newer text leaves the whole one that its actor knows as it is: what the actor writes next it makes of
        that, and lines it has not seen must not count as left out.

        Args:
            actor: Who read or wrote it.
            key: Lock key of the path.
            version: The text's version.
            content: Its bytes, unless the journal keeps them already.
            is_whole: Whether the actor has seen all of it.
            encoding: Codec that the actor named for it; its next writes are in it, too.
        """
        place = (owner_of(actor), key)
        if not is_whole and _is_other_whole(self.stamp(actor, key), version):
            self.news.know(*place, version)
            return
        with self._lock:
            if self._edited:
                self._edited.pop(place, None)
            stamps = self._stamps.get(place[0])
            known = self._unsaved.get(place) or (stamps.get(key) if stamps is not None else None)
            if _is_same(known, version, encoding) and (known.is_whole or not is_whole):
                return  # what is read again and again is noted once
            is_whole = is_whole or (known is not None and known.version == version and known.is_whole)
            stamp = Stamp(version=version, is_whole=is_whole, time=time.time(), encoding=encoding)
            if stamps is not None:
                stamps[key] = stamp
                stamps.move_to_end(key)
                if len(stamps) > MOST_STAMPS:
                    stamps.popitem(last=False)
            self._unsaved[place] = stamp
            if content is not None and len(content) <= LARGEST_TEXT_BYTES:
                self._hold(version, content)
        self.news.know(*place, version)

    def note_own_edit(self, actor: Actor, key: str, before: str | None, after: str) -> None:
        """Note that an actor itself made one version out of another; its stamp, the base of its next merge, stays.

        Args:
            actor: Who edited.
            key: Lock key of the path.
            before: The version that was edited.
            after: What it became.
        """
        with self._lock:
            known = self._stamps.get(owner_of(actor), OrderedDict()).get(key) or self._unsaved.get(
                (owner_of(actor), key)
            )
            place = (owner_of(actor), key)
            if known is not None and before in (known.version, self._edited.get(place)):
                self._edited[place] = after

    def note_told(self, actor: Actor, key: str, version: str) -> None:
        """Note that a result named this version to an actor, though others' unsaved text is in it that it has not seen.

        Kept in memory alone: the version becomes the file's, and can be named again, only once an editor has saved it.
        """
        with self._lock:
            place = (owner_of(actor), key)
            self._told.setdefault(place, deque(maxlen=MOST_TOLD)).append(version)
            self._told.move_to_end(place)
            if len(self._told) > MOST_STAMPS:
                self._told.popitem(last=False)

    def was_told(self, actor: Actor, key: str, version: str | None) -> bool:
        """Whether a version was named to an actor by a result, with text in it that the actor had not seen."""
        with self._lock:
            return version in self._told.get((owner_of(actor), key), ())

    def is_surprised(self, actor: Actor, key: str, version: str | None) -> bool:
        """Whether a path is at a version that comes from somebody else than the actor, who knew it before."""
        stamp = self.stamp(actor, key)
        return stamp is not None and version not in (stamp.version, self._edited.get((owner_of(actor), key)))

    def forget(self, actor: Actor, key: str) -> None:
        """Forget what an actor knew of a path, because it has deleted or moved it itself."""
        owner = owner_of(actor)
        with self._lock:
            self._stamps.get(owner, OrderedDict()).pop(key, None)
            self._unsaved[(owner, key)] = None
        self.news.forget(owner, key)

    def forget_below(self, actor: Actor, key: str) -> None:
        """Forget what an actor knew of all in a folder that it has deleted or moved itself; call it in a worker thread."""
        self.recall(actor)
        owner, prefix = owner_of(actor), f"{key}/"
        with self._lock:
            noted = {known for whose, known in (*self._unsaved, *self._saving) if whose == owner}
            below = [known for known in {*self._stamps.get(owner, ()), *noted} if known.startswith(prefix)]
        for known in below:
            self.forget(actor, known)

    def stamp(self, actor: Actor, key: str) -> Stamp | None:
        """Return what an actor knows of a path; call it in a worker thread."""
        owner = owner_of(actor)
        with self._lock:
            for noted in (self._unsaved, self._saving):
                if (owner, key) in noted:
                    return noted[(owner, key)]
            known = self._stamps.get(owner)
        if known is None:
            known = self._load(owner)
        return known.get(key)

    def is_recalled(self, actor: Actor) -> bool:
        """Whether what an actor knew in earlier openings is in memory."""
        return owner_of(actor) in self._stamps

    def recall(self, actor: Actor) -> None:
        """Load what an actor knew in earlier openings, and note what has changed since; call it in a worker thread."""
        owner = owner_of(actor)
        if owner not in self._stamps:
            self._load(owner)

    def text(self, version: str) -> bytes:
        """Return the bytes of a version that a stamp names; call it in a worker thread.

        Raises:
            VersionGoneError: They are not kept.
        """
        with self._lock:
            content = self._texts.get(version)
        if content is None:
            return self._journal.contents.get(version)
        if version_of(content) != version:
            raise VersionGoneError(None, version)
        return content

    def save(self) -> None:
        """Write what is new to the journal; call it in a worker thread."""
        with self._lock:
            self._saving, self._unsaved = {**self._saving, **self._unsaved}, {}
            unsaved = dict(self._saving)
            texts = dict(self._texts)
        for version, content in texts.items():
            if not self._journal.contents.has(version):
                self._journal.contents.keep(content, version)
        self._journal.stamps.save((owner, key, stamp) for (owner, key), stamp in unsaved.items())
        with self._lock:
            for version in texts:
                self._release(version)
            for (owner, key), stamp in unsaved.items():
                self._settle(owner, key, stamp)
            self._saving = {}

    def _settle(self, owner: str, key: str, stamp: Stamp | None) -> None:
        stamps = self._stamps.get(owner)
        if stamps is not None and stamp is not None and (owner, key) not in self._unsaved:
            stamps[key] = stamp

    def _load(self, owner: str) -> OrderedDict[str, Stamp]:
        loaded = OrderedDict(self._journal.stamps.of(owner))
        moved_on = self._journal.stamps.moved_on(owner)
        changed = {
            key: ChangedFile(path=path, by=by, version=version)
            for key, path, by, version in moved_on
            if owner_of(by) != owner
        }
        with self._lock:
            is_first = owner not in self._stamps
            stamps = self._stamps.setdefault(owner, loaded)
        if is_first:
            self.news.recall(owner, loaded, changed)
        return stamps

    def _hold(self, version: str, content: bytes) -> None:
        if version in self._texts:
            return
        self._texts[version] = content
        self._text_bytes += len(content)
        while self._text_bytes > MOST_TEXT_BYTES:
            self._release(next(iter(self._texts)))

    def _release(self, version: str) -> None:
        content = self._texts.pop(version, None)
        if content is not None:
            self._text_bytes -= len(content)


def _is_other_whole(known: Stamp | None, version: str) -> bool:
    return known is not None and known.is_whole and known.version != version


def _is_same(known: Stamp | None, version: str, encoding: str | None) -> TypeGuard[Stamp]:
    return known is not None and known.version == version and known.encoding == encoding
