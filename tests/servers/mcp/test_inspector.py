"""The official inspector's command line against our server over standard input and output; a longer check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from filetools.tools.registry import FILE_TOOLS
from tests.support.declared import REPOSITORY
from tests.support.node import INSPECTOR, program

ERAS = ("legacy", "modern")
GROUPS = ",".join(dict.fromkeys(tool.group for tool in FILE_TOOLS))
TOOL_FAILED = 5


def inspected(root: Path, era: str, *options: str, exit_code: int = 0) -> Any:
    """Run the inspector once, and return what it prints."""
    server = [sys.executable, "-m", "filetools", "mcp", str(root), "--tools", GROUPS]
    inspector = program(INSPECTOR, "clients/launcher/build/index.js")
    ended = subprocess.run(
        [*inspector, "--cli", *server, "--cwd", str(REPOSITORY), "--protocol-era", era, *options],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ended.returncode == exit_code, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def call(name: str, **arguments: Any) -> list[str]:
    return ["--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments)]


@pytest.mark.parametrize("era", ERAS)
def test_a_failed_tool_is_told_as_one(root: Path, era: str) -> None:
    told = inspected(root, era, *call("read_file", path="nowhere"), exit_code=TOOL_FAILED)
    assert told["isError"] is True
    assert told["content"][0]["text"].startswith("FILE_NOT_FOUND: ")


@pytest.mark.parametrize("era", ERAS)
def test_schemas_of_all_tools_are_portable(root: Path, era: str) -> None:
    told = inspected(root, era, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in told["tools"]] == [tool.name for tool in FILE_TOOLS]


@pytest.mark.parametrize("era", ERAS)
def test_files_are_written_read_and_listed(root: Path, era: str) -> None:
    written = inspected(root, era, *call("write_file", path="new.txt", content="new\n"))
    assert written["content"][0]["text"].startswith("[new.txt · created · 4 bytes · version ")
    assert inspected(root, era, *call("read_file", path="new.txt"))["content"][0]["text"].startswith("new\n[new.txt")
    listed = inspected(root, era, "--method", "resources/list")["resources"]
    assert "filetools:///files/new.txt" in [each["uri"] for each in listed]
    read = inspected(root, era, "--method", "resources/read", "--uri", "filetools:///files/new.txt")
    assert read["contents"][0]["text"] == "new\n"
    templates = inspected(root, era, "--method", "resources/templates/list")["resourceTemplates"]
    assert "filetools:///files/{+path}" in [each["uriTemplate"] for each in templates]


@pytest.mark.parametrize("era", ERAS)
def test_many_calls_at_once_all_succeed(root: Path, era: str) -> None:
    load = ["--load", "--load-requests", "200", "--load-concurrency", "25"]
    told = inspected(root, era, *call("append_file", path="log.txt", content="line\n"), *load)
    assert (told["ok"], told["errors"], told["toolErrors"]) == (200, 0, 0)
    assert (root / "log.txt").read_text() == "line\n" * 200
