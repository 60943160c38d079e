"""What an actor knows inside a transaction: what it knew before, and what it read and wrote in it."""

from __future__ import annotations

import time
from collections.abc import Callable

from filetools.journal import Journal, Stamp
from filetools.models import Actor
from filetools.versions import Knowledge


class InnerKnowledge(Knowledge):
    """Stamps of one transaction over those of the workspace. Lives as long as the transaction.

    A text of the transaction's own is known only in it, until its exit; a text of the disk is known in any case.
    """

    def __init__(self, journal: Journal, outer: Knowledge, is_changed: Callable[[str], bool]) -> None:
        """Know nothing of its own yet.

        Args:
            journal: Where texts may be kept.
            outer: The stamps of the workspace.
            is_changed: Whether the transaction has changed the path of a key.
        """
        super().__init__(journal)
        self._outer = outer
        self._is_changed = is_changed
        self._own: dict[str, Stamp | None] = {}
        self._own_texts: dict[str, bytes] = {}
        self._made: dict[str, set[str]] = {}

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
        """Note that the actor knows this text now; a part of it takes nothing away from a whole text that is known."""
        known = None if is_whole else self.stamp(actor, key)
        if known is not None and known.is_whole and known.version != version:
            return
        if not self._is_changed(key):
            self._outer.note(actor, key, version, content=content, is_whole=is_whole, encoding=encoding)
        elif content is not None:
            self._own_texts[version] = content
        self._own[key] = Stamp(version=version, is_whole=is_whole, time=time.time(), encoding=encoding)

    def note_own_edit(self, actor: Actor, key: str, before: str | None, after: str) -> None:
        """Note that the actor made one version out of another."""
        if not self.is_surprised(actor, key, before):
            self._made.setdefault(key, set()).add(after)

    def is_surprised(self, actor: Actor, key: str, version: str | None) -> bool:
        """Whether a path is at a version that comes from somebody else than the actor, who knew it before."""
        if version in self._made.get(key, ()):
            return False
        if key not in self._own:
            return self._outer.is_surprised(actor, key, version)
        stamp = self._own[key]
        return stamp is not None and stamp.version != version

    def forget(self, actor: Actor, key: str) -> None:
        """Forget what the actor knew of a path."""
        self._own[key] = None

    def stamp(self, actor: Actor, key: str) -> Stamp | None:
        """Return what the actor knows of a path."""
        return self._own[key] if key in self._own else self._outer.stamp(actor, key)

    def text(self, version: str) -> bytes:
        """Return the bytes of a version that a stamp names.

        Raises:
            VersionGoneError: They are not kept.
        """
        content = self._own_texts.get(version)
        return self._outer.text(version) if content is None else content

    def own(self) -> dict[str, Stamp | None]:
        """Return what is known here only, for `use`."""
        return dict(self._own)

    def use(self, own: dict[str, Stamp | None]) -> None:
        """Go back to what was known."""
        self._own = own

    def publish_forgotten(self, actor: Actor) -> None:
        """Have the workspace forget what the actor has forgotten here, because it took it away itself."""
        for key in [key for key, stamp in self._own.items() if stamp is None]:
            self._outer.forget(actor, key)

    def publish(self, actor: Actor, key: str, before: str | None, after: str, *, is_merged: bool) -> None:
        """Have the workspace know what the actor knows of a file that its transaction has changed for good.

        Args:
            actor: Whose transaction it was.
            key: Of the path.
            before: The version that stood there before the exit.
            after: The version that stands there now.
            is_merged: Whether that holds changes of others, made since the transaction's own first one.
        """
        stamp = self._own.get(key)
        if stamp is not None:
            content = self._own_texts.get(stamp.version)
            self._outer.note(
                actor, key, stamp.version, content=content, is_whole=stamp.is_whole, encoding=stamp.encoding
            )
            before = before if is_merged else stamp.version
        if stamp is None or key in self._made:
            self._outer.note_own_edit(actor, key, before, after)
