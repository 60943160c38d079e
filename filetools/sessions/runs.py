"""Runs: executions of agents, each stored as a row with its command, times, outcome, and range of changes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal

from msgspec import Struct, convert, structs

from filetools.content.version import version_of
from filetools.errors import FileToolsError, InvalidArgumentError, RunNotFoundError
from filetools.journal.table import Table, TableRow
from filetools.models.records import Actor
from filetools.processes import is_alive, process_mark

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
    """Session of the run's own calls."""
    actor: tuple[str, str]
    """Kind and name of the actor that started it."""
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
    """Its output folders, relative to the root."""
    checkpoint: str | None = None
    """Name of the checkpoint of the tree before it; automatic ones expire."""
    step: str = ""
    """Its progress, such as "Step 3/200"."""
    agent_session: str = ""
    """The agent's own session ID: the name of its log, by which it can be resumed."""
    turns: tuple[float, ...] = ()
    """Start of each turn, in seconds since the epoch; the first 1,000."""
    foreign: tuple[int, ...] = ()
    """Journal numbers of changes by other programs that count as its own."""
    messages: str | None = None
    """Version of its messages, while they are kept."""
    pid: int = 0
    mark: str = ""
    """Distinguishes its supervising process from later ones with the same number."""

    @property
    def has_died(self) -> bool:
        """True if its process died: the feed position of its end is then unknown."""
        return self.ended is not None and self.last is None

    def turn_at(self, moment: float) -> int | None:
        """Return the number of the turn at a time, from 1; None before the first."""
        return sum(began <= moment for began in self.turns) or None

    def lived_beside(self, other: Run) -> bool:
        """Return True if another run overlapped with this one in time."""
        end, other_end = (float("inf") if run.ended is None else run.ended for run in (self, other))
        return other.id != self.id and other.started <= end and self.started <= other_end

    def to_dict(self) -> dict[str, Any]:
        """Return its public form: JSON without unknown fields, times as UTC ISO 8601."""
        plain = {
            name: value
            for name, value in structs.asdict(self).items()
            if value not in (None, "") and name not in _INTERNAL
        }
        times = {name: datetime.fromtimestamp(plain[name], UTC) for name in _TIMES if name in plain}
        texts = {name: time.isoformat(timespec="milliseconds").replace("+00:00", "Z") for name, time in times.items()}
        return plain | texts | {"actor": dict(zip(("kind", "id"), self.actor, strict=True)), "turns": len(self.turns)}


def new_run_id(moment: float) -> str:
    """Return an ID for a run that begins at a time, in seconds since the epoch; IDs, and therefore rows, sort by time."""
    # Twenty runs may begin within one millisecond: with four random digits, two were equal once in 350 times.
    return f"run-{int(moment * 1000):011x}{secrets.token_hex(4)}"


class Runs:
    """The runs of a workspace. Stateless; every method may block.

    Args:
        table: The table of their rows.
        keep: Stores bytes in the journal by their version.
        clock: Returns seconds since the epoch.
    """

    def __init__(self, table: Table, *, keep: Callable[[bytes, str], None], clock: Callable[[], float]) -> None:
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
        """Record a new run of this process. Beyond 1,000 runs, the oldest ended ones are removed.

        Raises:
            InvalidArgumentError: A run of that session is active, or a run with that ID exists.
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
        # Another process may just have removed one of the old ones.
        if not (self._table.put([row, *old]) or self._table.put([row])):
            raise InvalidArgumentError(f"There is a run {run_id} already")
        return run

    def alter(self, run_id: str, *, messages: bytes = b"", durable: bool = True, **changes: Any) -> Run:
        """Change fields of a run, and store its messages.

        Raises:
            RunNotFoundError: No run has that ID.
        """

        def work() -> tuple[Run, list[TableRow]]:
            row = self._row(run_id)
            altered = structs.replace(row, value={**row.value, **changes}, used=self._clock())
            if messages:
                version = version_of(messages)
                self._keep(messages, version)
                altered = structs.replace(altered, version=version, size=len(messages))
            return _run(altered), [altered]

        return self._table.change(work, durable=durable)

    def note_turn(self, run_id: str, step: str) -> None:
        """Record the beginning of a turn, and the run's progress.

        Raises:
            RunNotFoundError: No run has that ID.
        """
        turns = (*self.get(run_id).turns, self._clock())
        self.alter(run_id, durable=False, step=step, turns=turns[:MOST_TURNS])

    def get(self, run_id: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError: No run has that ID.
        """
        return self._settled(_run(self._row(run_id)))

    def of_session(self, session: str) -> Run | None:
        """Return the newest run of a session."""
        return next((run for run in self.list() if run.session == session), None)

    def last_of(self, run: Run) -> str | None:
        """Return the position after a run's last change; if its process died, the start of the session's next run."""
        later = [each.first for each in self.list() if each.session == run.session and each.started > run.started]
        return run.last or (later[-1] if later else None)

    def list(self) -> Sequence[Run]:
        """Return all runs, newest first."""
        return [self._settled(_run(row)) for row in reversed(self._table.scan())]

    def _row(self, run_id: str) -> TableRow:
        if (row := self._table.get(run_id)) is None:
            raise RunNotFoundError(run_id)
        return row

    def _settled(self, run: Run) -> Run:
        """Return a run, marked as failed if its supervising process is dead."""
        if run.status != "running" or is_alive(run.pid, run.mark) is not False:
            return run
        try:
            return self.alter(run.id, status="failed", ended=self._clock())
        except FileToolsError:  # e.g. a full disk: report it as failed anyway
            return structs.replace(run, status="failed", ended=self._clock())


def _run(row: TableRow) -> Run:
    # Retention removes the bytes but keeps the row.
    return convert({**row.value, "messages": row.version}, Run)
