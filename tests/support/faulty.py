"""A store that fails or dies at its N-th call, for the crash tests of the whole product.

    plan = Plan.record()                      # a first run lists the calls
    work(FaultyStore(inner, plan))
    for call in plan.calls:                   # then one run for each place where it can die
        for moment in call.moments:
            work(FaultyStore(fresh(), Plan.die(call.number, moment)))

Several stores may share one plan; their calls are counted in one row.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any, Final, Literal, TypeVar

from filetools.errors import FileToolsError

Moment = Literal["before", "after", "half"]
T = TypeVar("T")

CHANGING: Final = frozenset(
    {
        "prepare", "make_directory", "remove_empty_directory", "remove", "move", "set_mode", "sync",
        "make_link", "Trashed.restore", "Trashed.discard",
        "Prepared.exchange", "Prepared.discard",
        "Displaced.put_back", "Displaced.keep", "Displaced.sync", "Displaced.discard",
    }
)  # fmt: skip
EXIT_CODE: Final = 137
"""What a process killed by SIGKILL reports."""


class Died(BaseException):
    """Stands for the end of the process; no `except Exception` holds it up."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that a store received."""

    number: int
    """Position in the row of calls, from 1."""
    store: str
    method: str
    """Name in `Store`, or "Prepared.exchange" and so on."""
    path: str

    @property
    def is_changing(self) -> bool:
        """Whether the call can change the disk."""
        return self.method in CHANGING

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Where a process can die at this call."""
        return ("before", "half", "after") if self.method == "prepare" else ("before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens at one call."""

    at: int
    moment: Moment = "before"
    """"half" matters where `prepare` dies: half of the bytes are written. Elsewhere it is "before"."""
    error: Callable[[str], FileToolsError] | None = None
    """Makes the error from the call's path, as `DiskFullError` does; None dies instead."""
    exits: bool = False
    """Die by ending the process for real."""
    is_lasting: bool = False
    """Whether every later call fails too; the dead stay dead anyhow."""


@dataclass
class Plan:
    """The faults of a run and the calls it saw; thread-safe."""

    faults: tuple[Fault, ...] = ()
    calls: list[Call] = field(default_factory=list)
    is_dead: bool = False
    is_armed: bool = True
    """Else calls are neither counted nor do they fail."""
    acts: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What a stranger does once in the very instant before the first call of each method."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def record(cls) -> Plan:
        """Fail nowhere."""
        return cls()

    @classmethod
    def die(cls, at: int, moment: Moment = "before", *, exits: bool = False) -> Plan:
        """Die at one call: by `Died`, or with `exits` by the end of the process."""
        return cls((Fault(at=at, moment=moment, exits=exits),))

    @classmethod
    def die_before(cls, method: str) -> Plan:
        """End the process before the first call of a method."""
        return cls(acts={method: lambda: os._exit(EXIT_CODE)})

    @classmethod
    def fail(
        cls, at: int, error: Callable[[str], FileToolsError], moment: Moment = "before", *, is_lasting: bool = False
    ) -> Plan:
        """Raise an error at one call, or at it and all later ones."""
        return cls((Fault(at=at, moment=moment, error=error, is_lasting=is_lasting),))

    def run(
        self, store: str, method: str, path: str, action: Callable[[], T], half: Callable[[], object] | None = None
    ) -> T:
        """Count one call and do it, unless a fault is due."""
        if (act := self.acts.pop(method, None)) is not None:
            act()
        if not self.is_armed:
            return action()
        with self._lock:
            if self.is_dead:
                raise Died
            number = len(self.calls) + 1
            self.calls.append(Call(number, store, method, path))
        fault = self._fault_at(number)
        if fault is None:
            return action()
        if fault.moment == "after":
            action()
        elif fault.moment == "half" and half is not None and fault.error is None:
            half()
        raise self._blow(fault, path)

    def _fault_at(self, number: int) -> Fault | None:
        for fault in self.faults:
            if number == fault.at or (fault.is_lasting and number > fault.at):
                return fault
        return None

    def _blow(self, fault: Fault, path: str) -> BaseException:
        if fault.error is not None:
            return fault.error(path)
        if fault.exits:
            os._exit(EXIT_CODE)
        with self._lock:
            self.is_dead = True
        return Died()


_Anything: Any = object


class _Told(_Anything):  # type: ignore[misc]  # has every method of what is inside, and its types
    """Something whose every call is told to a plan."""

    kind = ""

    def __init__(self, inner: Any, plan: Plan, store: str = "", path: str = "") -> None:
        self.inner = inner
        self.plan = plan
        self._store = store or inner.name
        self._path = path

    def __getattr__(self, method: str) -> Any:
        found = getattr(self.inner, method)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            return self._call(method, found, arguments, options)

        return call

    def _call(self, method: str, found: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        # The kernel closes the descriptors of the dead, and drops their nameless files; those with a name stay.
        if self.plan.is_dead and (method == "close" or (method == "discard" and not self.inner.temporary)):
            return found(*arguments, **options)
        path = self._path or (arguments[0] if arguments else "")
        given = [one.inner if isinstance(one, _Told) else one for one in arguments]

        def half() -> object:
            return found(given[0], given[1][: len(given[1]) // 2], **options)

        def whole() -> Any:
            result = found(*given, **options)
            return list(result) if isinstance(result, GeneratorType) else result

        result = self.plan.run(self._store, self.kind + method, path, whole, half if method == "prepare" else None)
        if method == "leftovers":
            return iter([FaultyDisplaced(left, self.plan, self._store, left.temporary) for left in result])
        return self._told(result, arguments[1] if method == "move" else path)

    def _told(self, result: Any, path: str) -> Any:
        for method, kind in _KINDS.items():
            if hasattr(result, method):
                return kind(result, self.plan, self._store, path)
        return result


class FaultyReader(_Told):
    kind = "Reader."


class FaultyDisplaced(_Told):
    kind = "Displaced."


class FaultyPrepared(_Told):
    kind = "Prepared."


class FaultyTrashed(_Told):
    kind = "Trashed."


_KINDS: Final = {
    "exchange": FaultyPrepared, "put_back": FaultyDisplaced, "read_at": FaultyReader, "entries": FaultyTrashed
}  # fmt: skip


class FaultyStore(_Told):
    """A whole store with a plan between it and its users."""
