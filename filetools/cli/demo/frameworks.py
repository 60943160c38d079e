"""The scene of frameworks: the same three edits through each that is installed, without a model, and what is left of them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from filetools.app.opening import open_workspace
from filetools.cli.demo.narrator import INDENT, Narrator
from filetools.cli.demo.stage import SETTINGS
from filetools.cli.terminal import STDOUT
from filetools.distribution import install_command, installed_version
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor

FILE: Final = "config.txt"
BEFORE: Final = "name: shop\nversion: 1.0\nowner: nobody\n\n# settings\nretries: 3\ntimeout: 10\n"
EDITS: Final = (
    ("alice", "version: 1.0", "version: 1.1"),
    ("bob", "retries: 3", "retries: 5"),
    ("carol", "version: 1.0", "version: 2.0"),
)
"""Who replaces what by what, all at once. The first and the last want the same line: only one of them can have it."""

Edit = Callable[[str, str], Awaitable[None]]
"""Replaces a text in the file by another; raises RefusedError."""
Make = Callable[[FileToolsFacade], Edit]
"""Returns the edits of one agent."""


class RefusedError(Exception):
    """Raised when a framework answers that it did not do what was asked."""


def _pydantic_ai(files: FileToolsFacade) -> Edit:
    from pydantic_ai.workspaces import Workspace, WorkspaceError

    from filetools.adapters.pydantic_ai import FileToolsWorkspace

    workspace = Workspace(FileToolsWorkspace(files))

    async def edit(old: str, new: str) -> None:
        text = await workspace.read_text(FILE)
        if old not in text:
            raise RefusedError
        try:
            await workspace.write_text(FILE, text.replace(old, new))
        except WorkspaceError as error:
            raise RefusedError from error

    return edit


def _deepagents(files: FileToolsFacade) -> Edit:
    from filetools.adapters.deepagents import FileToolsBackend

    backend = FileToolsBackend(files)

    async def edit(old: str, new: str) -> None:
        if (await backend.aedit(f"/{FILE}", old, new)).error is not None:
            raise RefusedError

    return edit


def _langchain(files: FileToolsFacade) -> Edit:
    from filetools.adapters.langchain import langchain_tools

    [tool] = langchain_tools(files, ["edit_file"])

    async def edit(old: str, new: str) -> None:
        arguments = {"path": FILE, "old_string": old, "new_string": new}
        said = await tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
        if said.status == "error":
            raise RefusedError

    return edit


def _openai_agents(files: FileToolsFacade) -> Edit:
    from agents import ApplyPatchOperation

    from filetools.adapters.openai_agents import FileToolsEditor

    editor = FileToolsEditor(files)

    async def edit(old: str, new: str) -> None:
        operation = ApplyPatchOperation(type="update_file", path=FILE, diff=f"@@\n-{old}\n+{new}\n")
        if (await editor.update_file(operation)).status == "failed":
            raise RefusedError

    return edit


FRAMEWORKS: Final[dict[str, tuple[str, Make]]] = {
    "pydantic-ai": ("pydantic-ai-slim", _pydantic_ai),
    "deepagents": ("deepagents", _deepagents),
    "langchain": ("langchain-core", _langchain),
    "openai-agents": ("openai-agents", _openai_agents),
}
"""By extra: the package that is asked for its version, and how its edits are made."""


def play_frameworks() -> bool:
    """Play it in temporary folders and print a table; whether no edit was lost, and the one that could not be made refused."""
    narrator = Narrator()
    narrator.heading("Three agents of a framework edit one file at once")
    for actor, old, new in EDITS:
        narrator.say(f"{actor}: {old} -> {new}")
    table = Table(
        "framework", "version", "edits", "lost", "refused", "", box=None, pad_edge=False, padding=(0, 3, 0, 0)
    )
    holds = True
    missing: list[str] = []
    for name, (package, make) in FRAMEWORKS.items():
        version = installed_version(package)
        if version is None:
            missing.append(f"{name} is not installed: {install_command(name)}")
            continue
        made, lost, refused = asyncio.run(_edit_together(make))
        is_right = (made, lost, refused) == (2, 0, 1)
        holds = holds and is_right
        verdict = Text("ok", style="green") if is_right else Text("BROKEN", style="bold red")
        table.add_row(name, version, str(made), str(lost), str(refused), verdict)
    if table.row_count:
        STDOUT.print()
        STDOUT.print(Padding(table, (0, 0, 0, INDENT)), soft_wrap=False)
    for line in missing:
        narrator.note(line)
    return holds


async def _edit_together(make: Make) -> tuple[int, int, int]:
    """Return how many edits were acknowledged, how many of them are not in the file, and how many were refused."""
    with tempfile.TemporaryDirectory(prefix="filetools-demo-") as folder:
        (Path(folder) / FILE).write_text(BEFORE, encoding="utf-8")
        async with open_workspace(folder, settings={**SETTINGS, "watch": False}) as files:
            edits = [make(files.for_actor(Actor(kind="agent", id=actor, session="demo"))) for actor, _, _ in EDITS]
            tried = (edit(old, new) for edit, (_, old, new) in zip(edits, EDITS, strict=True))
            answers = await asyncio.gather(*tried, return_exceptions=True)
        after = (Path(folder) / FILE).read_text(encoding="utf-8")
    made = [new for (_, _, new), answer in zip(EDITS, answers, strict=True) if answer is None]
    return len(made), sum(new not in after for new in made), sum(isinstance(each, RefusedError) for each in answers)
