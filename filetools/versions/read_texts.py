"""The texts that actors have read, for as long as nothing else keeps them: in memory, and on their way into the journal."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from typing import Final

MOST_HELD_BYTES: Final = 32 * 1024 * 1024
"""Texts that stay in memory; beyond it those not used longest are kept in the journal, too."""
MOST_WAITING_BYTES: Final = 256 * 1024 * 1024
"""Texts that wait in memory to be kept; beyond it those not used longest go."""
BATCH_BYTES: Final = 8 * 1024 * 1024
"""Bytes of texts that are kept at once, the newest first; the rest waits for the next time."""


class _Texts(OrderedDict[str, bytes]):
    """Texts by version, the one not used longest first."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        """Bytes of all."""

    def hold(self, version: str, content: bytes) -> None:
        self.release(version)
        self[version] = content
        self.size += len(content)

    def release(self, version: str) -> None:
        self.size -= len(self.pop(version, b""))

    def beyond(self, limit: int) -> Iterator[tuple[str, bytes]]:
        """Take out those not used longest until the rest is of at most so many bytes."""
        while self.size > limit:
            version, content = self.popitem(last=False)
            self.size -= len(content)
            yield version, content


class ReadTexts:
    """Texts in memory, by version. Lives as long as its read tracker, whose lock is held for every call."""

    def __init__(self) -> None:
        self._held, self._waiting = _Texts(), _Texts()

    @property
    def is_waiting(self) -> bool:
        """Whether any text is to be kept in the journal."""
        return bool(self._waiting)

    def get(self, version: str) -> bytes | None:
        """Return the bytes of a version, if they are here."""
        return self._held.get(version, self._waiting.get(version))

    def hold(self, version: str, content: bytes, *, in_memory: bool) -> None:
        """Take a text; with `in_memory` it need not be kept in the journal while there is room for it here."""
        (self._held if in_memory else self._waiting).hold(version, content)
        for former, its_content in self._held.beyond(MOST_HELD_BYTES):
            self._waiting.hold(former, its_content)
        for _ in self._waiting.beyond(MOST_WAITING_BYTES):
            pass

    def batch(self) -> dict[str, bytes]:
        """Return what is to be kept in the journal next."""
        sizes = accumulate(map(len, reversed(self._waiting.values())))
        newest = zip(reversed(self._waiting.items()), sizes, strict=True)
        return dict(item for item, _ in takewhile(lambda one: one[1] <= BATCH_BYTES, newest))

    def release(self, versions: Iterable[str]) -> None:
        """Forget that texts are to be kept: they are."""
        for version in versions:
            self._waiting.release(version)
