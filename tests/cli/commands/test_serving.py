"""What `filetools mcp` and `serve` refuse before they serve anybody; serving itself is tried at the door."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from filetools.cli.command import cli
from tests.support.terminal import CommandLine


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mcp",), "needs a ROOT"),
        (("mcp", ""), "There is no directory ''"),
        (("mcp", ".", ".."), "serves one ROOT; only mcp-filesystem accepts several"),
        (("mcp", ".", "--dialect", "mcp-filesytem"), "did you mean 'mcp-filesystem'?"),
        (("mcp", ".", "--dialect", "mcp-filesystem", "--editor"), "does not support the tools of editors"),
        (("mcp", "--dialect", "mcp-filesystem", "--mirror", "copy"), "--mirror requires exactly one ROOT"),
        (("serve", ".", "--dialect", "claude-cod"), "did you mean 'claude-code'?"),
        (("serve", ".", "--dialect", "claude-code", "--structured"), "does not support results as JSON"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(run: CommandLine, arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments)
    assert (done.code, done.text) == (2, "")
    assert told in " ".join(done.error.replace("│", " ").split())


def test_a_folder_that_cannot_be_opened_as_a_workspace_ends_it(run: CommandLine, root: Path) -> None:
    (root / ".filetools").write_text("no folder")
    for arguments in (("mcp", "."), ("mcp", ".", "src", "--dialect", "mcp-filesystem")):
        done = run(*arguments)
        assert (done.code == 0, done.text) == (False, "")


@pytest.mark.parametrize(("command", "part"), [(("serve", "."), "HTTP"), (("mcp", "."), "MCP")])
def test_a_missing_extra_is_told_in_two_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], part: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(args=list(command), prog_name="filetools", standalone_mode=False) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" needs")[0] for line in told[:1]] == [f"error: serving {part}"]
    assert told[1].startswith("hint: pip install 'agent-filetools[")
    assert len(told) == 2
