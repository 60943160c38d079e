from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from filetools.cli.app import app
from filetools.cli.help_page import summary
from filetools.cli.terminal import STDOUT

GROUP: Any = typer.main.get_command(app)
Page = Callable[..., list[str]]


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Page:
    """Return the lines that `--help` prints at a width."""

    def shown(*arguments: str, width: int = 80) -> list[str]:
        monkeypatch.setattr(STDOUT.console, "_width", width)
        GROUP.main(args=[*arguments, "--help"], prog_name="filetools", standalone_mode=False)
        return capsys.readouterr().out.rstrip("\n").split("\n")

    return shown


@pytest.mark.parametrize("name", ["", *GROUP.commands])
def test_a_page_fits_80_columns_and_explains_every_option(page: Page, name: str) -> None:
    lines = page(*name.split())
    assert lines[0].startswith(f"Usage: filetools {name}".rstrip())
    assert [line for line in lines if line != line.rstrip()] == []
    without_choices = [line for line in lines if "|" not in line]
    assert [line for line in without_choices if len(line) > 80 and not line.startswith("  filetools ")] == []
    assert not [line for line in lines if re.search(r"<\w+>|None|\bbool\b", line)]
    for option in GROUP.commands[name].params if name else GROUP.params:
        assert option.help, option.name


@pytest.mark.parametrize("name", GROUP.commands)
def test_a_page_ends_with_examples_of_its_command(page: Page, name: str) -> None:
    lines = page(name)
    examples = lines[lines.index("Examples") + 1 :]
    assert examples
    assert all(f"filetools {name}" in example for example in examples)


def test_every_command_has_its_line_in_the_list(page: Page) -> None:
    lines = page(width=100)
    for name, command in GROUP.commands.items():
        assert [line for line in lines if line.split()[:1] == [name] and summary(command.help)[:50] in line], name


def test_a_page_is_as_narrow_as_its_terminal_and_never_wider_than_is_good_to_read(page: Page) -> None:
    assert max(len(line) for line in page("undo", width=60) if not line.startswith("  filetools ")) <= 60
    assert 80 < max(map(len, page("undo", width=200))) <= 100


def test_usage_marks_what_may_be_left_out(page: Page) -> None:
    assert page("grep")[0] == "Usage: filetools grep [OPTIONS] PATTERN [PATH...]"
    assert page("rm")[0] == "Usage: filetools rm [OPTIONS] PATH..."


def test_an_option_shows_its_short_form_its_value_and_its_default(page: Page) -> None:
    assert "  -C, --context N      Lines above and below. [0]" in page("grep")
    assert "      --durability commit|relaxed" in page("write")
