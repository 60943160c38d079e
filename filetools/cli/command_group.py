"""The commands as one group that imports a command when it is called, and none for a word that a shell completes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_group

from filetools.cli.commands import COMMANDS
from filetools.cli.help_page import PagedGroup, checked_if_needed


class Commands(Mapping[str, Any]):
    """The commands by name, in the order of `COMMANDS`; a module is imported with the first of its commands."""

    def __init__(self) -> None:
        self.loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.loaded:
            module, _ = COMMANDS[name]
            part = typer.Typer()
            import_module(f"filetools.cli.commands.{module}").register(part)
            self.loaded |= get_group(part).commands
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandGroup(PagedGroup):
    """All commands of `filetools`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = Commands()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return checked_if_needed(super().get_params(ctx), ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what a shell may offer for the word that is being typed; nothing is imported for it."""
        loading = self.commands
        self.commands = {name: TyperCommand(name=name, short_help=text) for name, (_, text) in COMMANDS.items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = loading
