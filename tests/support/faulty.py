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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from filetools.errors import FileToolsError
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat, Prepared, Reader, ScanEntry, Store, Take

Moment = Literal["before", "after", "half"]
T = TypeVar("T")

CHANGING: Final = frozenset(
    {
        "prepare", "prepare_link", "make_directory", "remove_empty_directory", "remove", "restore", "move", "set_mode", "sync",
        "set_directory_mode", "make_link",
        "Prepared.exchange", "Prepared.discard",
        "Displaced.put_back", "Displaced.keep_in_limbo", "Displaced.sync", "Displaced.discard",
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
    def fail(
        cls, at: int, error: Callable[[str], FileToolsError], moment: Moment = "before", *, is_lasting: bool = False
    ) -> Plan:
        """Raise an error at one call, or at it and all later ones."""
        return cls((Fault(at=at, moment=moment, error=error, is_lasting=is_lasting),))

    @property
    def changing_calls(self) -> list[Call]:
        """The calls that can change the disk."""
        return [call for call in self.calls if call.is_changing]

    def run(
        self, store: str, method: str, path: str, action: Callable[[], T], half: Callable[[], object] | None = None
    ) -> T:
        """Count one call and do it, unless a fault is due."""
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


class FaultyReader:
    def __init__(self, inner: Reader, plan: Plan, store: str, path: str) -> None:
        self._inner = inner
        self._plan = plan
        self._about = (store, path)

    @property
    def stat(self) -> FileStat:
        return self._inner.stat

    def read_at(self, offset: int, count: int) -> bytes:
        store, path = self._about
        return self._plan.run(store, "Reader.read_at", path, lambda: self._inner.read_at(offset, count))

    def is_being_written(self) -> bool:
        store, path = self._about
        return self._plan.run(store, "Reader.is_being_written", path, self._inner.is_being_written)

    def has_changed(self) -> bool:
        store, path = self._about
        return self._plan.run(store, "Reader.has_changed", path, self._inner.has_changed)

    def close(self) -> None:
        # The kernel closes the descriptors of the dead.
        if self._plan.is_dead:
            self._inner.close()
            return
        store, path = self._about
        self._plan.run(store, "Reader.close", path, self._inner.close)


class FaultyDisplaced:
    def __init__(self, inner: Displaced, plan: Plan, store: str, path: str) -> None:
        self._inner = inner
        self._plan = plan
        self._about = (store, path)

    @property
    def temporary(self) -> str:
        return self._inner.temporary

    @property
    def stat(self) -> FileStat:
        return self._inner.stat

    def read(self) -> bytes:
        return self._run("read", self._inner.read)

    def is_being_written(self) -> bool:
        return self._run("is_being_written", self._inner.is_being_written)

    def is_untouched(self) -> bool:
        return self._run("is_untouched", self._inner.is_untouched)

    def put_back(self) -> None:
        self._run("put_back", self._inner.put_back)

    def keep_in_limbo(self, name: str) -> None:
        self._run("keep_in_limbo", lambda: self._inner.keep_in_limbo(name))

    def sync(self) -> None:
        self._run("sync", self._inner.sync)

    def discard(self) -> None:
        self._run("discard", self._inner.discard)

    def _run(self, method: str, action: Callable[[], T]) -> T:
        store, path = self._about
        return self._plan.run(store, f"Displaced.{method}", path, action)


class FaultyPrepared:
    def __init__(self, inner: Prepared, plan: Plan, store: str, path: str) -> None:
        self.inner = inner
        self._plan = plan
        self._about = (store, path)

    @property
    def temporary(self) -> str:
        return self.inner.temporary

    @property
    def stat(self) -> FileStat:
        return self.inner.stat

    def exchange(self) -> FaultyDisplaced | None:
        store, path = self._about
        displaced = self._plan.run(store, "Prepared.exchange", path, self.inner.exchange)
        return None if displaced is None else FaultyDisplaced(displaced, self._plan, store, path)

    def discard(self) -> None:
        # The kernel drops the nameless files of the dead; those with a name stay.
        if self._plan.is_dead and not self.inner.temporary:
            self.inner.discard()
        store, path = self._about
        self._plan.run(store, "Prepared.discard", path, self.inner.discard)


class FaultyStore:
    """A whole store with a plan between it and its users."""

    def __init__(self, inner: Store, plan: Plan) -> None:
        self.inner = inner
        self.plan = plan

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def tick_ns(self) -> int:
        return self.inner.tick_ns

    def stat(self, path: WorkspacePath) -> FileStat | None:
        return self._run("stat", path, lambda: self.inner.stat(path))

    def read(self, path: WorkspacePath, *, limit: int | None = None) -> tuple[bytes, FileStat]:
        return self._run("read", path, lambda: self.inner.read(path, limit=limit))

    def read_now(self, path: WorkspacePath, limit: int, take: Take[T]) -> T | None:
        return self._run("read_now", path, lambda: self.inner.read_now(path, limit, take))

    def read_lent(self, path: WorkspacePath, limit: int, take: Take[T]) -> T:
        return self._run("read", path, lambda: self.inner.read_lent(path, limit, take))

    def open(self, path: WorkspacePath) -> Reader:
        return FaultyReader(self._run("open", path, lambda: self.inner.open(path)), self.plan, self.name, path)

    def prepare(
        self,
        path: WorkspacePath,
        content: bytes,
        *,
        new: bool,
        mode: int | None = None,
        like: WorkspacePath | None = None,
    ) -> Prepared:
        def half() -> object:
            return self.inner.prepare(path, content[: len(content) // 2], new=new, mode=mode, like=like)

        def whole() -> Prepared:
            return self.inner.prepare(path, content, new=new, mode=mode, like=like)

        prepared = self.plan.run(self.name, "prepare", path, whole, half)
        return FaultyPrepared(prepared, self.plan, self.name, path)

    def prepare_link(self, path: WorkspacePath, prepared: Prepared) -> Prepared:
        assert isinstance(prepared, FaultyPrepared)
        inner = prepared.inner
        linked = self._run("prepare_link", path, lambda: self.inner.prepare_link(path, inner))
        return FaultyPrepared(linked, self.plan, self.name, path)

    def make_directory(self, path: WorkspacePath, mode: int = 0o777) -> bool:
        return self._run("make_directory", path, lambda: self.inner.make_directory(path, mode))

    def remove(self, path: WorkspacePath, trash: str | None = None) -> Displaced:
        displaced = self._run("remove", path, lambda: self.inner.remove(path, trash))
        return FaultyDisplaced(displaced, self.plan, self.name, path)

    def remove_empty_directory(self, path: WorkspacePath) -> None:
        self._run("remove_empty_directory", path, lambda: self.inner.remove_empty_directory(path))

    def trashed(self, path: WorkspacePath, trash: str) -> list[tuple[str, FileStat]]:
        return self._run("trashed", path, lambda: self.inner.trashed(path, trash))

    def read_trashed(self, path: WorkspacePath, trash: str, relative: str) -> bytes:
        return self._run("read_trashed", path, lambda: self.inner.read_trashed(path, trash, relative))

    def trash_names(self) -> list[str]:
        return self._run("trash_names", "", self.inner.trash_names)

    def trash_bytes(self, trash: str) -> int:
        return self._run("trash_bytes", trash, lambda: self.inner.trash_bytes(trash))

    def empty_trash(self, trash: str) -> None:
        self._run("empty_trash", trash, lambda: self.inner.empty_trash(trash))

    def has_trash(self, path: WorkspacePath, trash: str) -> bool:
        return self._run("has_trash", trash, lambda: self.inner.has_trash(path, trash))

    def restore(self, path: WorkspacePath, trash: str) -> None:
        self._run("restore", path, lambda: self.inner.restore(path, trash))

    def move(self, source: WorkspacePath, destination: WorkspacePath, *, overwrite: bool = False) -> Displaced | None:
        displaced = self._run("move", source, lambda: self.inner.move(source, destination, overwrite=overwrite))
        return None if displaced is None else FaultyDisplaced(displaced, self.plan, self.name, destination)

    def scan(self, path: WorkspacePath) -> Iterator[ScanEntry]:
        yield from self._run("scan", path, lambda: list(self.inner.scan(path)))

    def state_below(self, path: WorkspacePath) -> WorkspacePath | None:
        return self.inner.state_below(path)

    def set_mode(self, path: WorkspacePath, mode: int) -> None:
        self._run("set_mode", path, lambda: self.inner.set_mode(path, mode))

    def set_directory_mode(self, path: WorkspacePath, mode: int) -> None:
        self._run("set_directory_mode", path, lambda: self.inner.set_directory_mode(path, mode))

    def read_link(self, path: WorkspacePath) -> bytes:
        return self._run("read_link", path, lambda: self.inner.read_link(path))

    def make_link(self, path: WorkspacePath, target: bytes) -> None:
        self._run("make_link", path, lambda: self.inner.make_link(path, target))

    def sync(self, path: WorkspacePath, *, synced: set[WorkspacePath] | None = None) -> bool:
        return self._run("sync", path, lambda: self.inner.sync(path, synced=synced))

    def leftovers(self) -> Iterator[Displaced]:
        for left in self._run("leftovers", "", lambda: list(self.inner.leftovers())):
            yield FaultyDisplaced(left, self.plan, self.name, left.temporary)

    def probe(self) -> None:
        self._run("probe", "", self.inner.probe)

    def close(self) -> None:
        # The kernel closes the descriptors of the dead; their files count as left behind from here on.
        if self.plan.is_dead:
            self.inner.close()
            return
        self._run("close", "", self.inner.close)

    def _run(self, method: str, path: str, action: Callable[[], T]) -> T:
        return self.plan.run(self.name, method, path, action)
