"""All stripes of a table: which of them a set of keys means, and who holds one, here or elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Sequence

from filelock import lock_descriptor

from filetools.errors import AccessDeniedError, FileToolsError
from filetools.locks.holder import LINE_BYTES, UNKNOWN, LockInfo, from_line
from filetools.locks.lock_files import LockFiles
from filetools.locks.stripe import Stripe, lock_file_name


class Stripes:
    """A fixed number of stripes, made when first used. Lives as long as its table."""

    def __init__(self, files: LockFiles, count: int) -> None:
        self._files = files
        self._count = count
        self._made: dict[int, Stripe] = {}

    def of(self, keys: Sequence[str]) -> list[Stripe]:
        """Return the stripes of the keys, each once, ascending.

        The order is the same in every process: whoever waits for a stripe holds lower ones only, so that no circle of
        waiters can close.
        """
        numbers = (self._number(keys[0]),) if len(keys) == 1 else sorted({self._number(key) for key in keys})
        return [self._made.get(number) or self._make(number) for number in numbers]

    def holder_of(self, key: str) -> LockInfo | None:
        """Return who holds the stripe of this key, in any process; from any thread.

        Raises:
            StateDamagedError, AccessDeniedError, WorkspaceGoneError
        """
        number = self._number(key)
        stripe = self._made.get(number)
        own = None if stripe is None else _own_holder(stripe)
        return own or self._other_holder(lock_file_name(number))

    def own_holders(self) -> list[LockInfo]:
        """Return who of this process holds a stripe, the oldest first; call it on the loop."""
        holders = (_own_holder(stripe) for stripe in self._made.values())
        return sorted((info for info in holders if info is not None), key=lambda info: info.since)

    def describe_holder(self, stripe: Stripe) -> str:
        """Return in words who holds a stripe that could not be entered."""
        info = _own_holder(stripe)
        if info is None:
            # Whatever is wrong with the file that would name the holder, the caller reports a time-out.
            with contextlib.suppress(FileToolsError, OSError):
                info = self._last_holder(stripe.name)
        return (info or UNKNOWN).describe(time.time())

    def refuse_all(self) -> None:
        """End the waiting of all tasks."""
        for stripe in self._made.values():
            stripe.turns.refuse()

    def abandon(self) -> None:
        """Forget all that is held, in a forked child."""
        for stripe in self._made.values():
            stripe.abandon()

    def _number(self, key: str) -> int:
        # Names from the disk may hold surrogates. Unlike hash(), crc32 is the same in every process.
        return zlib.crc32(key.encode("utf-8", "surrogatepass")) % self._count

    def _make(self, number: int) -> Stripe:
        stripe = self._made[number] = Stripe(lock_file_name(number), self._files)
        return stripe

    def _other_holder(self, name: str) -> LockInfo | None:
        # On a fresh descriptor: a try on one that the loop uses would succeed and then unlock what it holds.
        file = self._files.find(name)
        if file is None:
            return None
        try:
            return None if lock_descriptor(file.descriptor, blocking=False) else from_line(file.read_at(1, LINE_BYTES))
        except OSError as exc:
            raise AccessDeniedError(f"locks/{name}", exc.strerror or "it cannot be locked") from exc
        finally:
            self._files.discard(file)

    def _last_holder(self, name: str) -> LockInfo | None:
        file = self._files.find(name)
        if file is None:
            return None
        try:
            return from_line(file.read_at(1, LINE_BYTES))
        finally:
            self._files.discard(file)


def _own_holder(stripe: Stripe) -> LockInfo | None:
    # Read once: the loop may take the holder away while another thread asks.
    holder = stripe.holder
    if holder is None:
        return None
    return LockInfo(path=holder.path, owner=holder.owner, process_id=os.getpid(), since=stripe.since_ns / 1e9)
