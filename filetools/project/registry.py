"""Which folders are registered as projects, and which instances work on them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from filetools.errors import FileToolsError, ProjectExistsError, ProjectNotFoundError
from filetools.events.activity import ProjectCreated, ProjectDeleted, ProjectInstanceLinked, ProjectUpdated
from filetools.events.types import Event
from filetools.journal.table import Table, TableRow
from filetools.project.folder import folder_path, is_folder, short_path
from filetools.project.instances import Changed, Instances, checked_name, id_of


class Registry(Instances):
    """The projects and instances that a workspace knows. Lives as long as the caller likes: it holds nothing.

    A project is told as `id`, `name`, `path` (absolute, links resolved), `created_at` and `updated_at` (UTC, ISO 8601);
    where it is known `git_remote`, `repo_name` and `last_activity_at`; and `missing` where its folder is not there. Every
    method that takes an id raises ProjectNotFoundError, or InvalidArgumentError for that of an instance.

    Args:
        remote: Returns what git knows of a folder, as `git_remote` does.
        others: As for `Instances`.
    """

    def __init__(self, table: Table, *, remote: Callable[[str], Mapping[str, Any] | None], **others: Any) -> None:
        super().__init__(table, **others)
        self._remote = remote

    def list_projects(self) -> list[dict[str, Any]]:
        """Return all projects: those with the latest activity first, those without any last, by name."""
        by_name = sorted(map(_told, self._rows("project")), key=lambda told: str(told["name"]))
        return sorted(by_name, key=lambda told: str(told.get("last_activity_at", "")), reverse=True)

    def project(self, project_id: str) -> dict[str, Any]:
        """Return one project."""
        return _told(self._project(project_id))

    def ensure_project(self, path: str, name: str | None = None) -> dict[str, Any]:
        """Return the project of a folder, which is registered if it is none yet; this counts as activity.

        Args:
            path: The folder.
            name: Of a new project; by default the name of its repository, else of its folder.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, AccessDeniedError, InvalidArgumentError
        """
        return self._made(path, name, is_new=False)

    def create(self, path: str, name: str | None = None) -> dict[str, Any]:
        """Register a folder as a project; see `ensure_project`.

        Raises:
            ProjectExistsError: It is one already.
        """
        return self._made(path, name, is_new=True)

    def update_project(self, project_id: str, *, name: str | None = None, path: str | None = None) -> dict[str, Any]:
        """Give a project another name, or say where its folder is now; see `ensure_project`.

        Raises:
            ProjectExistsError: That folder is another project.
        """
        named = {} if name is None else {"name": checked_name(name)}
        place = None if path is None else self._folder(path)

        def work() -> Changed[dict[str, Any]]:
            row = self._project(project_id)
            changes, moved = dict(named), []
            if place not in (None, row.value["path"]):
                at, other = self._at(str(place))
                if other.value:
                    raise ProjectExistsError(short_path(str(place)), id_of(other))
                moved = [replace(at, value={"id": project_id}), *self._former(row)]
                changes |= {"path": place, **self._git(str(place))}
            return self._updated(row, changes, *moved)

        return self._change(work)

    def refresh(self, project_id: str) -> dict[str, Any]:
        """Ask git again what it knows of a project's folder, unless that is not there."""

        def work() -> Changed[dict[str, Any]]:
            row = self._project(project_id)
            return self._updated(row, self._git(row.value["path"]) if is_folder(row.value["path"]) else {})

        return self._change(work)

    def delete_project(self, project_id: str) -> None:
        """Forget a project; its files stay."""

        def work() -> Changed[None]:
            row = self._project(project_id)
            gone = [row, *(link for link in self._rows("link") if link.key.split("/")[1] == project_id)]
            rows = [*(replace(each, is_gone=True) for each in gone), *self._former(row)]
            return rows, None, [ProjectDeleted(project=project_id)]

        self._change(work)

    def link(self, project_id: str, instance_id: str) -> None:
        """Note that an instance works on a project, now."""

        def work() -> Changed[None]:
            # Both are put, too: the link must not outlive one that somebody else removes meanwhile.
            project, instance = self._project(project_id), self._instance(instance_id)
            row, now = self._row("link", project_id, instance_id), self._now()
            linked = replace(row, value={"first_seen_at": now, **row.value, "last_seen_at": now})
            active = replace(project, value={**project.value, "last_activity_at": now})
            event = ProjectInstanceLinked(project=project_id, instance=instance_id)
            return [linked, active, instance], None, [] if row.value else [event]

        self._change(work)

    def unlink(self, project_id: str, instance_id: str) -> None:
        """Forget that an instance works on a project."""

        def work() -> Changed[None]:
            project, row = self._project(project_id), self._row("link", project_id, instance_id)
            return [replace(row, is_gone=True)] if row.value else [], None, [_event(project)] if row.value else []

        self._change(work)

    def _made(self, path: str, name: str | None, *, is_new: bool) -> dict[str, Any]:
        place = self._folder(path)
        given = None if name is None else checked_name(name)

        def work() -> Changed[dict[str, Any]]:
            (at, row), now = self._at(place), self._now()
            if row.value and is_new:
                raise ProjectExistsError(short_path(place), id_of(row))
            if row.value:
                row = replace(row, value={**row.value, "last_activity_at": now})
                return [row], _told(row), []
            git = self._git(place)
            called = given or checked_name(git["repo_name"] or os.path.basename(place).strip() or place)
            times = {"last_activity_at": None if is_new else now, "created_at": now, "updated_at": now}
            row = replace(row, value={"name": called, "path": place, **git, **times})
            return (
                [replace(at, value={"id": id_of(row)}), row],
                _told(row),
                [ProjectCreated(project=id_of(row), path=place)],
            )

        return self._change(work)

    def _updated(self, row: TableRow, changes: Mapping[str, Any], *others: TableRow) -> Changed[dict[str, Any]]:
        if all(row.value[name] == value for name, value in changes.items()):
            return [], _told(row), []
        row = replace(row, value={**row.value, **changes, "updated_at": self._now()})
        return [row, *others], _told(row), [_event(row)]

    def _folder(self, path: str) -> str:
        return folder_path(self._place(path), base=self._base, allowed=None)

    def _project(self, project_id: str) -> TableRow:
        row = self._row("project", project_id)
        if not row.value:
            raise ProjectNotFoundError(project_id[:80])
        return row

    def _at(self, place: str) -> tuple[TableRow, TableRow]:
        """Return the row that keeps a path for one project, and the row of that; a fresh one if there is none."""
        at = self._row("path", place)
        row = self._row("project", str(at.value.get("id", "")))
        return at, row if row.value else self._row("project", secrets.token_hex(4))

    def _former(self, row: TableRow) -> list[TableRow]:
        """Return the row that gives up the path of a project."""
        at = self._row("path", row.value["path"])
        return [replace(at, is_gone=True)] if at.value.get("id") == id_of(row) else []

    def _git(self, place: str) -> dict[str, Any]:
        known: Mapping[str, Any] = {}
        with suppress(FileToolsError):  # a project need not be a repository, nor git be there
            known = self._remote(place) or {}
        return {"git_remote": known.get("remote"), "repo_name": known.get("repo_name")}


def _told(row: TableRow) -> dict[str, Any]:
    told = {"id": id_of(row), **{name: value for name, value in row.value.items() if value is not None}}
    return told if is_folder(row.value["path"]) else {**told, "missing": True}


def _event(row: TableRow) -> Event:
    return ProjectUpdated(project=id_of(row), path=row.value["path"])
