"""The calls of tools that are under way, so that they can be listed and stopped by their id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from filetools.tools import AbortSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCall:
    """One call under way."""

    id: str
    tool: str
    owner: str
    """Whose call it is; see `Caller.owner`."""
    signal: AbortSignal
    """Stops it."""


class RunningCalls:
    """All calls under way of one server; lives as long as it."""

    def __init__(self) -> None:
        self._calls: dict[str, RunningCall] = {}

    def __iter__(self) -> Iterator[RunningCall]:
        return iter(list(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def get(self, call_id: str) -> RunningCall | None:
        """Return a call by its id."""
        return self._calls.get(call_id)

    @contextmanager
    def during(self, call: RunningCall) -> Iterator[RunningCall]:
        """List a call for as long as the block runs."""
        self._calls[call.id] = call
        try:
            yield call
        finally:
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    def abort_all(self) -> None:
        """Stop every call."""
        for call in self:
            call.signal.abort()
