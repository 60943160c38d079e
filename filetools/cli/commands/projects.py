"""Commands over the registry of the workspace: `project`, and `instances`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from filetools.cli.command import workspace_command
from filetools.cli.desk import Desk
from filetools.cli.help_page import PagedGroup
from filetools.cli.terminal import print_line, print_note, printable

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

_PANEL: Final = "Workspace"
_SHARED: Final = ("root", "state_dir", "as_json")
ProjectId = Annotated[str, typer.Argument(metavar="ID", help="Id of a project; 'filetools project list' tells it.")]
Folder = Annotated[str, typer.Argument(metavar="PATH", help="An existing folder, anywhere.")]
Name = Annotated[str | None, typer.Option(help="Its name; else that of its repository or folder.")]
Action = Annotated[Literal["list", "pin", "unpin"], typer.Argument(metavar="ACTION", help="list, pin or unpin.")]
InstanceId = Annotated[str | None, typer.Argument(metavar="ID", help="Id of an instance.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    group = typer.Typer(
        cls=PagedGroup,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Register folders as projects, which agents of this root may look into.",
        epilog="filetools project list\nfiletools project add ../library",
    )
    for body, name, example in (
        (list_projects, "list", "filetools project list --json"),
        (add, "add", "filetools project add ../library --name library"),
        (remove, "remove", "filetools project remove 1f0c2a9b"),
        (move, "move", "filetools project move 1f0c2a9b ../library-2"),
    ):
        workspace_command(group, _SHARED, name=name, panel=_PANEL, examples=(example,))(body)
    app.add_typer(group, name="project", rich_help_panel=_PANEL)
    examples = ("filetools instances", "filetools instances pin 5c9d03e1")
    workspace_command(app, _SHARED, panel=_PANEL, examples=examples)(instances)


def list_projects(desk: Desk) -> None:
    """List the projects, those with the latest activity first."""

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        return {"projects": await files.projects.run(lambda registry: registry.list_projects())}

    desk.read(work, lambda told: _show(told["projects"], "There is no project; 'filetools project add' makes one."))


def add(desk: Desk, path: Folder, *, name: Name = None) -> None:
    """Register a folder as a project."""
    place = _place(desk, path)
    desk.perform(
        lambda files: files.projects.run(lambda registry: registry.create(place, name)), lambda told: _show([told])
    )


def remove(desk: Desk, project: ProjectId) -> None:
    """Forget a project; its files stay."""

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        await files.projects.run(lambda registry: registry.delete_project(project))
        return {"id": project}

    desk.perform(work, lambda _: print_note("removed; its files stay"))


def move(desk: Desk, project: ProjectId, path: Folder) -> None:
    """Say where the folder of a project is now."""
    place = _place(desk, path)
    desk.perform(
        lambda files: files.projects.run(lambda registry: registry.update_project(project, path=place)),
        lambda told: _show([told]),
    )


def instances(desk: Desk, action: Action = "list", instance: InstanceId = None) -> None:
    """List the agents and servers that run on this root; pin one to have it listed before the others."""
    if (action == "list") != (instance is None):
        raise typer.BadParameter("'pin' and 'unpin' go with an ID")

    async def work(files: FileToolsFacade) -> dict[str, Any]:
        if instance is not None:
            await files.projects.run(lambda registry: registry.pin_instance(instance, action == "pin"))
        return {"instances": await files.projects.run(lambda registry: registry.instances(detailed=True))}

    act = desk.read if instance is None else desk.perform
    act(work, lambda told: _show(told["instances"], "No instance runs on this root."))


def _place(desk: Desk, path: str) -> str:
    """Return an absolute path; the home folder is left to the registry."""
    return path if path == "~" or path.startswith("~/") else str(desk.workplace.folder / path)


def _show(rows: list[Mapping[str, Any]], none: str = "") -> None:
    """Print projects, or instances."""
    for each in rows:
        state = "missing" if each.get("missing") else each.get("status", "")
        place = printable(each.get("path") or each["dir"])
        print_line(
            f"{each['id']}  ",
            (f"{state:<9}" if state else "", "yellow"),
            printable(each["name"]),
            (f"  {place}", "dim"),
        )
    if not rows:
        print_note(none)
