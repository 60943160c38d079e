"""What each side was told, and whether what was acknowledged is still there.

A token may vanish from the files and documents only if a successful operation took it away whose author knew it, or if
it was displaced by a program or on demand: then some kept version of the path has it. A token that was typed and not
saved never gets to the disk. A refused operation changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.schedules.tokens import party_of

Tokens = frozenset[str]
NONE: Tokens = frozenset()
FOREIGN = "XY"
"""The letters of programs that know nothing of filetools; Y saves in the very instant of another's write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One operation of a schedule and what it was answered."""

    who: str
    what: str
    """In words, for the replay of a failure."""
    refusal: str | None = None
    """Code of the error; None after a success."""
    adds: Tokens = NONE
    removes: Tokens = NONE
    """Tokens that its author knew and left out or took away."""
    displaces: Tokens = NONE
    """Tokens that it may replace unread; they must be kept."""
    saves: Tokens = NONE
    """Tokens of a document that it may bring to the disk."""
    lands: Mapping[str, str] = field(default_factory=dict)
    """For each path, whether the added tokens must stand on the "disk" or in the "document"."""
    landing: Mapping[str, Tokens] = field(default_factory=dict)
    is_foreign: bool = False
    carries: Tokens = NONE
    """What a foreign program saved, also of what it found in the file: in the instant of a call that may be of one which is
    refused after all."""

    def __str__(self) -> str:
        return f"{self.who}: {self.what} -> {self.refusal or 'done'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The tokens of each path at one moment."""

    disk: Mapping[str, Tokens]
    documents: Mapping[str, Tokens]
    content: Mapping[str, bytes | None]

    @property
    def on_disk(self) -> Tokens:
        return NONE.union(*self.disk.values())

    @property
    def live(self) -> Tokens:
        return self.on_disk.union(*self.documents.values())


class Ledger:
    """Follows the tokens of one schedule."""

    def __init__(self) -> None:
        self.deeds: list[Deed] = []
        self._added: set[str] = set()
        self._removed: set[str] = set()
        self._displaced: set[str] = set()
        self._refused: set[str] = set()
        self._unread: set[str] = set()
        """Foreign tokens that a foreign program overwrote before filetools could see them."""
        self._carried: set[str] = set()

    @property
    def removed(self) -> Tokens:
        """The tokens that somebody took away who knew them."""
        return frozenset(self._removed)

    def note(self, deed: Deed) -> None:
        """Enter a deed, without looking at what it did."""
        self.deeds.append(deed)
        self._carried |= deed.carries
        if deed.refusal is not None:
            self._refused |= deed.adds
            return
        self._added |= deed.adds
        self._removed |= deed.removes
        self._displaced |= deed.displaces

    def overlook(self, tokens: Tokens) -> None:
        """Expect nothing of tokens that a foreign program overwrote before filetools could see them."""
        self._unread |= tokens

    def overlook_foreign(self) -> None:
        """Expect nothing of what foreign programs overwrote, since nobody watched whether filetools had seen it."""
        self.overlook(frozenset(token for token in self._displaced if party_of(token) in FOREIGN))

    def faults_of(self, deed: Deed, before: Standing, after: Standing, kept: Tokens) -> list[str]:
        """Return what a deed did that it should not have; for schedules in which nobody else acts meanwhile."""
        vanished = before.live - after.live - self._removed - self._unread
        if deed.is_foreign:
            # What one foreign program overwrites of another's before filetools has seen it is not ours to keep.
            self._unread |= {token for token in vanished - kept if party_of(token) in FOREIGN}
            vanished -= self._unread
        faults = [f"lost: {token}" for token in sorted(vanished - (self._displaced & kept))]
        if deed.is_foreign:
            return faults
        leaked = after.on_disk - before.on_disk - deed.adds - deed.saves
        faults += [f"reached the disk unasked: {token}" for token in sorted(leaked) if party_of(token) not in FOREIGN]
        if deed.refusal is None:
            return faults + self._faults_of_success(deed, after)
        # Unless a foreign program saved in the instant of the call.
        return faults + ([] if any(one.who == "Y" for one in self.deeds[-2:]) else _changed(before, after))

    def faults_at_end(self, standing: Standing, kept: Tokens, *, may_displace: bool = True) -> list[str]:
        """Return what is missing or should not be there when all is over.

        Args:
            standing: What stands where.
            kept: The tokens of all versions that can be read.
            may_displace: Whether somebody may have replaced what nobody can say they saw, so that it need only be kept.
        """
        missing = self._added - self._removed - standing.live - (kept if may_displace else self._displaced & kept)
        faults = [f"lost at the end: {token}" for token in sorted(missing - self._unread)]
        return faults + [
            f"of a refused call: {token}" for token in sorted(self._refused & standing.live - self._carried)
        ]

    def _faults_of_success(self, deed: Deed, after: Standing) -> list[str]:
        faults = []
        for path, place in deed.lands.items():
            there = (after.disk if place == "disk" else after.documents).get(path, NONE)
            wanted = deed.landing.get(path, deed.adds) - self._removed - self._displaced
            faults += [f"not in the {place} of {path}: {token}" for token in sorted(wanted - there)]
            # What gets into a file is put on top of its open document in the same moment, or it is refused.
            shown = after.documents.get(path, wanted)
            faults += [f"not in the document of {path}: {token}" for token in sorted(wanted - shown)]
        return faults

    def story(self) -> str:
        """Return all deeds, one a line."""
        return "\n".join(f"  {number}. {deed}" for number, deed in enumerate(self.deeds, 1))


def _changed(before: Standing, after: Standing) -> list[str]:
    """A refused call leaves every file as it was."""
    paths = {*before.content, *after.content}
    return [
        f"changed by a refused call: {path}"
        for path in sorted(paths)
        if before.content.get(path) != after.content.get(path)
    ]
