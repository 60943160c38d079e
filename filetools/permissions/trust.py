"""What a person allowed for longer than one call: tools trusted for a run, and everything for a day."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from filetools.models.records import Actor

EVERYTHING_SECONDS: Final = 24 * 3600.0
"""How long "allow everything" lasts."""
MAX_TRUSTED_RUNS: Final = 1024
"""Runs whose trust is remembered; of an older one the person is asked again."""

_Run = tuple[str, str, str | None]


class RunTrust:
    """Tools, and single protected paths, that runs may use without asking. Lives as long as its policy."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: OrderedDict[_Run, set[tuple[str, str | None]]] = OrderedDict()

    def add(self, actor: Actor, tool: str, path: str | None = None) -> None:
        """Trust an actor's run with a tool.

        Args:
            actor: Whose run; its id and session tell runs apart.
            tool: The tool.
            path: The protected path it is trusted with; None for all paths that are not protected.
        """
        run = _run_of(actor)
        self._runs.setdefault(run, set()).add((tool, path))
        self._runs.move_to_end(run)
        if len(self._runs) > MAX_TRUSTED_RUNS:
            self._runs.popitem(last=False)

    def covers(self, actor: Actor, tool: str, path: str | None = None) -> bool:
        """Whether this run was trusted with just that."""
        if not self._runs:
            return False
        return (tool, path) in self._runs.get(_run_of(actor), ())

    def forget(self, actor: Actor) -> None:
        """End the trust of an actor's run; does nothing if there is none."""
        self._runs.pop(_run_of(actor), None)


def _run_of(actor: Actor) -> _Run:
    return (actor.kind, actor.id, actor.session)


class AllowEverything:
    """The mode in which nothing that may be asked is asked, until a day has passed. Lives as long as its policy.

    Args:
        clock: Seconds since the epoch; the end survives a restart, so the clock of the wall is the one that counts.
    """

    __slots__ = ("_clock", "since")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.since: float | None = None
        """When it was switched on, in seconds since the epoch; None while it is off."""

    def now(self) -> float:
        """Return the time by the clock that counts; setting `since` to it switches the mode on for a day."""
        return self._clock()

    @property
    def is_on(self) -> bool:
        """Whether it is on now; a clock that was set back before its start ends it."""
        return self.since is not None and 0 <= self._clock() - self.since < EVERYTHING_SECONDS
