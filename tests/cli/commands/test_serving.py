"""What `filetools mcp` and `serve` refuse before they serve anybody; serving itself is tried at the door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("command", "part", "extra"), [("serve", "HTTP", "server"), ("mcp", "MCP", "mcp")])
def test_a_missing_extra_is_told_in_one_line(command: str, part: str, extra: str) -> None:
    program = "import sys; sys.modules['mcp'] = None; from filetools.__main__ import main; main()"
    done = subprocess.run((sys.executable, "-c", program, command, "."), capture_output=True, text=True, check=False)
    told = f"error: The {part} server needs the package 'mcp': pip install 'agent-filetools[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)
