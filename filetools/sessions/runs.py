"""Runs: executions of agents, each a row that says what it was, when, how it ended, and which changes are its own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.errors import FileToolsError, InvalidArgumentError, RunNotFoundError
from filetools.journal.table import Table, TableRow
from filetools.models.records import Actor
from filetools.stores.processes import is_alive, process_mark

RunStatus = Literal["running", "completed", "failed", "cancelled"]
MOST_RUNS: Final = 1000
MOST_TURNS: Final = 1000
PROMPT_CHARACTERS: Final = 200
_TIMES: Final = ("started", "ended")
_INTERNAL: Final = ("pid", "mark", "foreign", "turns")


class Run(Struct, frozen=True, kw_only=True):
    """One execution of an agent."""

    id: str
    session: str
    """That of the calls which are the run's."""
    actor: tuple[str, str]
    """Kind and name of who started it."""
    command: str
    prompt: str
    """Its first 200 characters."""
    started: float
    """Seconds since the epoch."""
    ended: float | None = None
    status: RunStatus = "running"
    exit_code: int | None = None
    first: str
    """Position in the feed before its first change."""
    last: str | None = None
    """Position after its last one."""
    outputs: tuple[str, ...] = ()
    """Folders that it was told to write to, relative to the root."""
    checkpoint: str | None = None
    """Name of the checkpoint of the tree before it; automatic ones expire."""
    step: str = ""
    """How far it is, such as "Step 3/200"."""
    agent_session: str = ""
    """What the agent itself calls its session: its log has that name, and it can be resumed by it."""
    turns: tuple[float, ...] = ()
    """When each turn began, in seconds since the epoch; the first 1,000."""
    foreign: tuple[int, ...] = ()
    """Changes of other programs that count as its own, by their numbers in the journal."""
    messages: str | None = None
    """Version of what it said, as long as that is kept."""
    pid: int = 0
    mark: str = ""
    """Tells the process that looks after it from later ones of the same number."""

    @property
    def has_died(self) -> bool:
        """Whether nobody saw its end: which changes of others came before that is not known."""
        return self.ended is not None and self.last is None

    def turn_at(self, moment: float) -> int | None:
        """Return the number of the turn that was under way at a time, from 1; None before the first."""
        return sum(began <= moment for began in self.turns) or None

    def lived_beside(self, other: Run) -> bool:
        """Whether another run was alive at any time of this one."""
        end, other_end = (float("inf") if run.ended is None else run.ended for run in (self, other))
        return other.id != self.id and other.started <= end and self.started <= other_end

    def to_dict(self) -> dict[str, Any]:
        """Return what others are told of it: JSON without what is unknown, times as UTC ISO 8601."""
        plain = {
            name: value
            for name, value in structs.asdict(self).items()
            if value not in (None, "") and name not in _INTERNAL
        }
        times = {name: datetime.fromtimestamp(plain[name], UTC) for name in _TIMES if name in plain}
        texts = {name: time.isoformat(timespec="milliseconds").replace("+00:00", "Z") for name, time in times.items()}
        return plain | texts | {"actor": dict(zip(("kind", "id"), self.actor, strict=True)), "turns": len(self.turns)}


def new_run_id(moment: float) -> str:
    """Return an id for a run that begins at a time, in seconds since the epoch; ids, and so rows, sort by it."""
    # Twenty begin within one millisecond: of four random digits two of them were the same once in 350 times.
    return f"run-{int(moment * 1000):011x}{secrets.token_hex(4)}"


class Runs:
    """The runs of a workspace. Holds nothing itself; every method may block.

    Args:
        table: Their rows.
        keep: Keeps bytes among the journal's contents and returns their version.
        clock: Tells seconds since the epoch.
    """

    def __init__(self, table: Table, *, keep: Callable[[bytes], str], clock: Callable[[], float]) -> None:
        self._table = table
        self._keep = keep
        self._clock = clock

    def begin(
        self,
        run_id: str,
        actor: Actor,
        *,
        first: str,
        session: str | None,
        command: str,
        prompt: str,
        outputs: Sequence[str],
        checkpoint: str | None = None,
    ) -> Run:
        """Note that a run begins in this process; those that ended longest ago go, beyond 1,000.

        Raises:
            InvalidArgumentError: A run of that session is alive already, or there is one of that id.
        """
        known = self.list()
        if session is not None and any(run.session == session and run.status == "running" for run in known):
            raise InvalidArgumentError(f"A run of the session {session!r} is under way already")
        pid, started = os.getpid(), self._clock()
        run = Run(
            id=run_id, session=session or run_id, actor=(actor.kind, actor.id), command=command,
            prompt=prompt[:PROMPT_CHARACTERS], started=started, first=first, outputs=tuple(outputs),
            checkpoint=checkpoint, pid=pid, mark=process_mark(pid),
        )  # fmt: skip
        row = TableRow(key=run_id, value=structs.asdict(run), used=started)
        gone = [each.id for each in known[MOST_RUNS - 1 :] if each.status != "running"]
        old = [structs.replace(found, is_gone=True) for each in gone if (found := self._table.get(each)) is not None]
        # Another process may have forgotten one of the old ones just now.
        if not (self._table.put([row, *old]) or self._table.put([row])):
            raise InvalidArgumentError(f"There is a run {run_id} already")
        return run

    def alter(self, run_id: str, *, messages: bytes = b"", durable: bool = True, **changes: Any) -> Run:
        """Change fields of a run, and keep what it said.

        Raises:
            RunNotFoundError: There is none of that id.
        """
        kept = {"messages": self._keep(messages)} if messages else {}
        while True:
            row = self._row(run_id)
            altered = structs.replace(row, value={**row.value, **changes, **kept}, used=self._clock())
            if kept:
                altered = structs.replace(altered, version=kept["messages"], size=len(messages))
            if self._table.put([altered], durable=durable):
                return _run(altered)

    def note_turn(self, run_id: str, step: str) -> None:
        """Note that a turn of a run begins, and how far it is.

        Raises:
            RunNotFoundError: There is none of that id.
        """
        turns = self.get(run_id).turns
        self.alter(run_id, durable=False, step=step, turns=[*turns, self._clock()][:MOST_TURNS])

    def get(self, run_id: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError: There is none of that id.
        """
        return self._settled(_run(self._row(run_id)))

    def of_session(self, session: str) -> Run | None:
        """Return the newest run of a session."""
        return next((run for run in self.list() if run.session == session), None)

    def last_of(self, run: Run) -> str | None:
        """Return the position after the last change of a run; if its process died, where the next of its session began."""
        later = [each.first for each in self.list() if each.session == run.session and each.started > run.started]
        return run.last or (later[-1] if later else None)

    def list(self) -> Sequence[Run]:
        """Return all runs, the newest first."""
        return [self._settled(_run(row)) for row in reversed(self._table.scan())]

    def _row(self, run_id: str) -> TableRow:
        if (row := self._table.get(run_id)) is None:
            raise RunNotFoundError(run_id)
        return row

    def _settled(self, run: Run) -> Run:
        """Return a run, which has failed if the process that looked after it is dead."""
        if run.status != "running" or is_alive(run.pid, run.mark) is not False:
            return run
        try:
            return self.alter(run.id, status="failed", ended=self._clock())
        except FileToolsError:  # on a full disk it is told all the same
            return structs.replace(run, status="failed", ended=self._clock())


def _run(row: TableRow) -> Run:
    value: Mapping[str, Any] = row.value
    known: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in value.items()}
    # Retention takes the bytes, and the row stays.
    return Run(**known | {"messages": row.version})
