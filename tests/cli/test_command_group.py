from __future__ import annotations

from pathlib import Path

import pytest

from filetools.cli import commands
from filetools.cli.command_group import Commands
from filetools.cli.commands import COMMANDS
from filetools.cli.help_page import summary


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_shell_offers_a_command_with_is_its_first_sentence(name: str) -> None:
    command = Commands()[name]
    assert (command.name, summary(command.help)) == (name, COMMANDS[name][1])


def test_every_command_of_a_module_stands_in_the_table() -> None:
    """A command that is registered and not in `COMMANDS` cannot be called."""
    folder = Path(commands.__path__[0])
    registering = {path.stem for path in folder.glob("*.py") if "def register(" in path.read_text(encoding="utf-8")}
    assert {module for module, _ in COMMANDS.values()} == registering
    every = Commands()
    for name in COMMANDS:
        every[name]
    assert set(every.loaded) == set(COMMANDS)


def test_what_is_no_command_is_not_there() -> None:
    assert Commands().get("nonsense") is None
    assert list(Commands()) == list(COMMANDS)
    assert len(Commands()) == len(COMMANDS)
