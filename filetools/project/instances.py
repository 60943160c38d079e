"""Which agents and servers run, where, and what they do; and the rows of the registry, which every process shares."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeVar, get_args

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.events.activity import InstanceChanged
from filetools.events.types import Event
from filetools.journal.table import Table, TableRow
from filetools.project.folder import is_within, real_path, short_path
from filetools.stores.processes import is_alive, process_mark

InstanceStatus = Literal["working", "awaiting", "idle", "error"]
WORKING_SECONDS: Final = 10.0
"""How long after a call a server counts as working."""
KEPT_DAYS: Final = 7
MOST_CLOSED: Final = 200
"""Instances that have ended are forgotten after so many days, or where there are more."""
UNSEEN_SECONDS: Final = 24 * 3600.0
"""After so long without a sign of life an instance counts as ended whose process cannot be looked up from here."""
LONGEST: Final = {"name": 200, "path": 4096}
"""In characters; a longer name is cut, a longer path refused."""

T = TypeVar("T")
Changed = tuple[Sequence[TableRow], T, Sequence[Event]]
"""Rows to put, what the caller is told, and what everybody else is."""


class Instances:
    """The instances, in the rows of the registry. Any thread may call; every process on the workspace shares them.

    Args:
        table: The rows.
        base: What relative paths are relative to.
        clock: Returns seconds since the epoch.
        publish: Gets the event of each change, in the thread of the call.
        is_alive: Whether the process of a number and a mark lives; None if that cannot be told.
    """

    def __init__(
        self,
        table: Table,
        *,
        base: str,
        clock: Callable[[], float],
        publish: Callable[[Event], None],
        is_alive: Callable[[int, str], bool | None] = is_alive,
    ) -> None:
        self._table = table
        self._base = base
        self._clock = clock
        self._publish = publish
        self._is_alive = is_alive

    def instances(self, *, detailed: bool = False) -> list[dict[str, Any]]:
        """Return the instances that have not ended, pinned ones first; those whose process is dead end by this.

        Args:
            detailed: Whether to tell "awaiting" and "error", too; else all but "working" is "idle".

        Returns:
            For each `id`, `name`, `dir`, `status`, and `project`, the id of the one that it is linked to or lies in.
        """
        rows = sorted(self._running(), key=lambda row: (not row.value["is_pinned"], row.value["display_order"]))
        projects = self._rows("project")
        linked: dict[str, str] = {}
        for link in sorted(self._rows("link"), key=lambda row: str(row.value["last_seen_at"])):
            linked[id_of(link)] = link.key.split("/")[1]
        told = []
        for row in rows:
            status, place = self._status(row), _directory(row)
            project = linked.get(id_of(row), next(map(id_of, _holding(projects, place)), None))
            shown = {
                "id": id_of(row), "name": row.value["name"], "dir": short_path(place),
                "status": status if detailed or status == "working" else "idle",
            }  # fmt: skip
            told.append(shown if project is None else {**shown, "project": project})
        return told

    def register_instance(self, name: str, working_dir: str, *, pid: int | None = None, is_server: bool = False) -> str:
        """Note that an agent or a server runs, and return its new id.

        Args:
            name: For people; cut to 200 characters.
            working_dir: Its folder.
            pid: Number of its process: when that is dead, the instance has ended.
            is_server: Whether it works just as long as `touch_instance` was called within the last 10 seconds.

        Raises:
            InvalidArgumentError: The name is empty, the folder no path, or the number none of a living process.
        """
        mark = None if pid is None else process_mark(pid)
        value = {
            "name": checked_name(name), "working_dir": self._place(working_dir), "last_cwd": None, "status": "idle",
            "is_pinned": False, "pid": pid, "mark": mark, "is_server": is_server, "closed_at": None,
        }  # fmt: skip
        if pid is not None and (pid < 1 or self._is_alive(pid, str(mark)) is False):
            raise InvalidArgumentError(f"There is no process {pid!r:.80}")

        def work() -> Changed[str]:
            self._running()
            rows = self._rows("instance")
            order = 1 + max((row.value["display_order"] for row in rows), default=0)
            row = self._row("instance", secrets.token_hex(4))
            times = {"display_order": order, "created_at": self._now(), "updated_at": self._now()}
            # It has not been called yet.
            used = self._clock() - (WORKING_SECONDS + 1 if is_server else 0)
            row = replace(row, value=value | times, used=used)
            return [row, *self._forgotten(rows)], id_of(row), [self._event(row)]

        return self._change(work, durable=False)

    def set_instance_status(self, instance_id: str, status: InstanceStatus) -> None:
        """Note what an instance does; one that had ended runs again.

        Raises:
            InvalidArgumentError: There is no such instance, or no such status.
        """
        if status not in get_args(InstanceStatus):
            raise InvalidArgumentError(f"A status is one of {', '.join(get_args(InstanceStatus))}, not {status!r:.80}")
        self._alter(instance_id, {"status": status, "closed_at": None}, is_active=True)

    def touch_instance(self, instance_id: str, cwd: str | None = None, *, name: str | None = None) -> None:
        """Note a sign of life of an instance, in the folder where it is now; it counts for the project there, too.

        Raises:
            InvalidArgumentError: There is no such instance, or the folder is no path.
        """
        changes: dict[str, Any] = {"closed_at": None}
        changes |= {} if cwd is None else {"last_cwd": self._place(cwd)}
        changes |= {} if name is None else {"name": checked_name(name)}
        self._alter(instance_id, changes, is_active=True)

    def close_instance(self, instance_id: str) -> None:
        """Note that an instance has ended; may be called twice.

        Raises:
            InvalidArgumentError: There is no such instance.
        """
        if self._instance(instance_id).value["closed_at"] is None:
            self._alter(instance_id, {"closed_at": self._now()})

    def pin_instance(self, instance_id: str, is_pinned: bool = True) -> None:
        """Show an instance before the others, or no more.

        Raises:
            InvalidArgumentError: There is no such instance.
        """
        self._alter(instance_id, {"is_pinned": is_pinned}, durable=True)

    def _alter(
        self, instance_id: str, changes: dict[str, Any], *, is_active: bool = False, durable: bool = False
    ) -> None:
        def work() -> Changed[None]:
            row = self._instance(instance_id)
            is_same = all(row.value[name] == value for name, value in changes.items())
            if is_same and not is_active:
                return [], None, []
            used = self._clock() if is_active else row.used
            altered = replace(row, value={**row.value, **changes, "updated_at": self._now()}, used=used)
            active = _holding(self._rows("project"), _directory(altered))[:1] if is_active else []
            rows = [altered, *(replace(each, value={**each.value, "last_activity_at": self._now()}) for each in active)]
            is_told = not is_same or self._status(row) != self._status(altered)
            return rows, None, [self._event(altered)] if is_told else []

        self._change(work, durable=durable)

    def _running(self) -> list[TableRow]:
        """Return the instances that have not ended, and note that the dead ones have."""
        found = []
        for row in self._rows("instance"):
            if row.value["closed_at"] is None and not self._is_dead(row):
                found.append(row)
            elif row.value["closed_at"] is None:
                with suppress(FileToolsError):  # on a full disk they are not listed all the same
                    self.close_instance(id_of(row))
        return found

    def _is_dead(self, row: TableRow) -> bool:
        if row.value["pid"] is None:
            return False
        found = self._is_alive(row.value["pid"], row.value["mark"])
        return self._clock() - row.used > UNSEEN_SECONDS if found is None else not found

    def _status(self, row: TableRow) -> str:
        if row.value["closed_at"] is not None:
            return "closed"
        if row.value["is_server"]:
            return "working" if 0 <= self._clock() - row.used <= WORKING_SECONDS else "idle"
        return str(row.value["status"])

    def _event(self, row: TableRow) -> Event:
        return InstanceChanged(instance=id_of(row), status=self._status(row))

    def _instance(self, instance_id: str) -> TableRow:
        row = self._row("instance", instance_id)
        if not row.value:
            raise InvalidArgumentError(f"Instance not found: {instance_id[:80]}")
        return row

    def _forgotten(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Return the rows that go, of instances that ended long ago, and of what links them."""
        ended = sorted((row for row in rows if row.value["closed_at"]), key=lambda row: str(row.value["closed_at"]))
        last = self._text_of(self._clock() - timedelta(days=KEPT_DAYS).total_seconds())
        gone = ended[: max(0, len(ended) - MOST_CLOSED)]
        gone += [row for row in ended[len(gone) :] if row.value["closed_at"] < last]
        ids = set(map(id_of, gone))
        links = [row for row in self._rows("link") if id_of(row) in ids] if gone else []
        return [replace(row, is_gone=True) for row in (*gone, *links)]

    def _place(self, raw_path: str) -> str:
        if len(raw_path) > LONGEST["path"]:
            raise InvalidArgumentError(f"A path has at most {LONGEST['path']} characters, not {len(raw_path)}")
        return real_path(raw_path, base=self._base)

    def _row(self, kind: str, *names: str) -> TableRow:
        """Return a row; one of revision 0 and without a value if there is none."""
        # What no database takes as text, such as half a surrogate pair, is escaped.
        key = "/".join((kind, *(json.dumps(name)[1:-1] for name in names)))
        return self._table.get(key) or TableRow(key=key, value={}, used=self._clock())

    def _rows(self, kind: str) -> list[TableRow]:
        found: list[TableRow] = []
        while page := self._table.scan(f"{kind}/", after=found[-1].key if found else ""):
            found += page
        return found

    def _change(self, work: Callable[[], Changed[T]], *, durable: bool = True) -> T:
        """Put the rows that `work` makes of what is there, again until nobody else has put one of them meanwhile."""
        while True:
            rows, told, events = work()
            if not rows or self._table.put(rows, durable=durable):
                for event in events:
                    self._publish(event)
                return told

    def _now(self) -> str:
        return self._text_of(self._clock())

    @staticmethod
    def _text_of(moment: float) -> str:
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def id_of(row: TableRow) -> str:
    """Return the last name in the key of a row."""
    return row.key.rpartition("/")[2]


def checked_name(name: str) -> str:
    """Return a name on one line, without halves of characters, and not too long.

    Raises:
        InvalidArgumentError: There is nothing in it.
    """
    shown = " ".join(name.split()).encode("utf-8", "backslashreplace").decode()[: LONGEST["name"]]
    if not shown:
        raise InvalidArgumentError("A name cannot be empty")
    return shown


def _directory(row: TableRow) -> str:
    return str(row.value["last_cwd"] or row.value["working_dir"])


def _holding(projects: Sequence[TableRow], place: str) -> list[TableRow]:
    """Return the projects that a folder is, or lies in, the innermost first."""
    found = [row for row in projects if is_within(place, row.value["path"])]
    return sorted(found, key=lambda row: -len(row.value["path"]))
