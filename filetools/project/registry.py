"""The registry of a workspace, shared by all processes: registered projects, and running agents and servers."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from filetools.errors import FileToolsError, InvalidArgumentError, ProjectExistsError, ProjectNotFoundError
from filetools.events.types import Event, InstanceChanged, ProjectCreated, ProjectDeleted, ProjectUpdated
from filetools.journal.table import Table, TableRow
from filetools.processes import is_alive, process_mark
from filetools.project.folder import folder_path, is_folder, is_within, real_path, short_path

WORKING_SECONDS: Final = 10.0
"""Time after a call during which an instance counts as working."""
UNSEEN_SECONDS: Final = 24 * 3600.0
"""Time without activity after which an instance counts as ended if its process cannot be checked from here."""
LONGEST_NAME: Final = 200

_INSTANCES: Final = "instance/"
_PROJECTS: Final = "projects/"
"""Key prefix of projects; the folder's path follows, so that a folder can be only one project."""

T = TypeVar("T")
_Changed = tuple[tuple[T, Sequence[Event]], Sequence[TableRow]]
"""The result, the events to publish, and the rows to put."""


class Registry:
    """The projects and instances of a workspace, in rows of its journal. Thread-safe.

    A project has `id`, `name`, `path` (absolute, links resolved), `created_at` and `updated_at` (UTC, ISO 8601); if known,
    `git_remote`, `repo_name` and `last_activity_at`; and `missing` if its folder does not exist. Methods that take a project's
    ID raise ProjectNotFoundError for an unknown one, those that take an instance's ID InvalidArgumentError.

    Args:
        table: The table of the rows.
        remote: Returns the remote of a folder, as `git_remote` does.
        base: The base of relative paths.
        clock: Returns seconds since the epoch.
        publish: Called with the event of each change, in the calling thread.
    """

    def __init__(
        self,
        table: Table,
        *,
        remote: Callable[[str], Mapping[str, Any] | None],
        base: str,
        clock: Callable[[], float],
        publish: Callable[[Event], object],
    ) -> None:
        self._table = table
        self._remote = remote
        self._base = base
        self._clock = clock
        self._publish = publish

    def list_projects(self) -> list[dict[str, Any]]:
        """Return all projects, latest activity first; those without any last, by name."""
        by_name = sorted(map(_project, self._table.scan(_PROJECTS)), key=lambda project: str(project["name"]))
        return sorted(by_name, key=lambda project: str(project.get("last_activity_at", "")), reverse=True)

    def project(self, project_id: str) -> dict[str, Any]:
        """Return one project."""
        return _project(self._project_row(project_id))

    def ensure_project(self, path: str, name: str | None = None) -> dict[str, Any]:
        """Return the project of a folder, and register it if necessary. Counts as activity.

        Args:
            path: The folder.
            name: Name of a new project; by default that of its repository, else of its folder.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, AccessDeniedError, InvalidArgumentError
        """
        return self._made(path, name, is_new=False)

    def create(self, path: str, name: str | None = None) -> dict[str, Any]:
        """Register a folder as a project; see `ensure_project`.

        Raises:
            ProjectExistsError: The folder is a project already.
        """
        return self._made(path, name, is_new=True)

    def move_project(self, project_id: str, path: str) -> dict[str, Any]:
        """Set the folder of a project that was moved; see `ensure_project`.

        Raises:
            ProjectExistsError: That folder is another project.
        """
        place = self._folder(path)

        def work() -> _Changed[dict[str, Any]]:
            row = self._project_row(project_id)
            if place == row.value["path"]:
                return (_project(row), []), []
            value = {**row.value, "path": place, **self._git(place), "updated_at": self._now()}
            now = replace(self._free_row(place), value=value)
            gone = replace(row, is_gone=True)
            return (_project(now), [ProjectUpdated(project=project_id, path=place)]), [now, gone]

        return self._change(work)

    def delete_project(self, project_id: str) -> None:
        """Remove a project from the registry; its files stay."""

        def work() -> _Changed[None]:
            gone = replace(self._project_row(project_id), is_gone=True)
            return (None, [ProjectDeleted(project=project_id)]), [gone]

        self._change(work)

    def instances(self) -> list[dict[str, Any]]:
        """Return the running instances, oldest first. Instances whose process is dead are closed.

        Returns:
            For each `id`, `name`, `dir`, `status` ("working" or "idle"), and `project`, the ID of the project that contains
            its folder.
        """
        projects, found = self._table.scan(_PROJECTS), list[dict[str, Any]]()
        for row in sorted(self._table.scan(_INSTANCES), key=lambda row: float(row.value["registered"])):
            if self._is_dead(row):
                with suppress(FileToolsError):  # on a full disk they are still omitted from the list
                    self.close_instance(_id_of(row))
                continue
            place = row.value["working_dir"]
            shown = {
                "id": _id_of(row), "name": row.value["name"], "dir": short_path(place), "status": self._status(row)
            }  # fmt: skip
            project = _innermost(projects, place)
            found.append(shown if project is None else {**shown, "project": project.value["id"]})
        return found

    def register_instance(self, name: str, working_dir: str, *, pid: int) -> str:
        """Register a running agent or server, and return its new ID.

        Args:
            name: Displayed name; cut to 200 characters.
            working_dir: Its folder.
            pid: Its process ID; when the process is dead, the instance has ended.

        Raises:
            InvalidArgumentError: The name is empty, the folder is not a path, or no such process is alive.
        """
        mark = process_mark(pid)
        value = {
            "name": _checked_name(name), "working_dir": real_path(working_dir, base=self._base), "pid": pid, "mark": mark,
            "registered": self._clock(),
        }  # fmt: skip
        if pid < 1 or is_alive(pid, mark) is False:
            raise InvalidArgumentError(f"There is no process {pid!r:.80}")
        used = self._clock() - WORKING_SECONDS - 1  # idle, since it has not been called yet
        row = TableRow(key=_INSTANCES + secrets.token_hex(4), value=value, used=used)
        return self._change(lambda: ((_id_of(row), [self._event(row)]), [row]), durable=False)

    def touch_instance(self, instance_id: str, *, name: str | None = None) -> None:
        """Record activity of an instance, and optionally its name; also counts as activity of its project."""
        changes = {} if name is None else {"name": _checked_name(name)}

        def work() -> _Changed[None]:
            row = self._row(_INSTANCES, instance_id)
            if not row.value:
                raise InvalidArgumentError(f"Instance not found: {instance_id[:80]}")
            rows = [replace(row, value={**row.value, **changes}, used=self._clock())]
            project = _innermost(self._table.scan(_PROJECTS), row.value["working_dir"])
            if project is not None:
                rows.append(replace(project, value={**project.value, "last_activity_at": self._now()}))
            is_news = rows[0].value != row.value or self._status(row) == "idle"
            return (None, [self._event(rows[0])] if is_news else []), rows

        self._change(work, durable=False)

    def close_instance(self, instance_id: str) -> None:
        """Remove an ended instance. Idempotent."""

        def work() -> _Changed[None]:
            row = self._row(_INSTANCES, instance_id)
            if not row.value:
                return (None, []), []
            return (None, [InstanceChanged(instance=instance_id, status="closed")]), [replace(row, is_gone=True)]

        self._change(work, durable=False)

    def _made(self, path: str, name: str | None, *, is_new: bool) -> dict[str, Any]:
        place = self._folder(path)
        given = None if name is None else _checked_name(name)

        def work() -> _Changed[dict[str, Any]]:
            row, now = self._free_row(place) if is_new else self._row(_PROJECTS, place), self._now()
            if row.value:
                row = replace(row, value={**row.value, "last_activity_at": now})
                return (_project(row), []), [row]
            git = self._git(place)
            called = given or _checked_name(git["repo_name"] or os.path.basename(place).strip() or place)
            times = {"last_activity_at": None if is_new else now, "created_at": now, "updated_at": now}
            row = replace(row, value={"id": secrets.token_hex(4), "name": called, "path": place, **git, **times})
            return (_project(row), [ProjectCreated(project=row.value["id"], path=place)]), [row]

        return self._change(work)

    def _is_dead(self, row: TableRow) -> bool:
        found = is_alive(row.value["pid"], row.value["mark"])
        return self._clock() - row.used > UNSEEN_SECONDS if found is None else not found

    def _status(self, row: TableRow) -> str:
        return "working" if 0 <= self._clock() - row.used <= WORKING_SECONDS else "idle"

    def _event(self, row: TableRow) -> Event:
        return InstanceChanged(instance=_id_of(row), status=self._status(row))

    def _folder(self, path: str) -> str:
        return folder_path(path, base=self._base, allowed=None)

    def _project_row(self, project_id: str) -> TableRow:
        found = next((row for row in self._table.scan(_PROJECTS) if row.value["id"] == project_id), None)
        if found is None:
            raise ProjectNotFoundError(project_id[:80])
        return found

    def _free_row(self, place: str) -> TableRow:
        row = self._row(_PROJECTS, place)
        if row.value:
            raise ProjectExistsError(short_path(place), row.value["id"])
        return row

    def _git(self, place: str) -> dict[str, Any]:
        known: Mapping[str, Any] = {}
        with suppress(FileToolsError):  # the project may not be a repository, or git may not be installed
            known = self._remote(place) or {}
        return {"git_remote": known.get("remote"), "repo_name": known.get("repo_name")}

    def _row(self, kind: str, name: str) -> TableRow:
        """Return a row; one with revision 0 and no value if it does not exist."""
        # Escape what the database refuses as text, such as a lone surrogate.
        key = f"{kind}{json.dumps(name)[1:-1]}"
        return self._table.get(key) or TableRow(key=key, value={}, used=self._clock())

    def _change(self, work: Callable[[], _Changed[T]], *, durable: bool = True) -> T:
        """Put the rows that `work` returns, and publish its events."""
        result, events = self._table.change(work, durable=durable)
        for event in events:
            self._publish(event)
        return result

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _id_of(row: TableRow) -> str:
    return row.key.rpartition("/")[2]


def _project(row: TableRow) -> dict[str, Any]:
    project = {name: value for name, value in row.value.items() if value is not None}
    return project if is_folder(row.value["path"]) else {**project, "missing": True}


def _innermost(projects: Sequence[TableRow], place: str) -> TableRow | None:
    """Return the innermost project that contains a folder or equals it."""
    found = [row for row in projects if is_within(place, row.value["path"])]
    return max(found, key=lambda row: len(row.value["path"]), default=None)


def _checked_name(name: str) -> str:
    """Return a name on one line, with lone surrogates escaped, and cut to the limit."""
    shown = " ".join(name.split()).encode("utf-8", "backslashreplace").decode()[:LONGEST_NAME]
    if not shown:
        raise InvalidArgumentError("A name cannot be empty")
    return shown
