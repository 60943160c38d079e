"""The start of `filetools mcp`: what is answered before anything is loaded, and how the door goes on from it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from typer.core import TyperOption

from filetools.cli.app import app
from filetools.models import Durability, Preset
from filetools.servers.mcp import DoorOptions
from filetools.servers.mcp_start import FLAGS, PUBLISHED, VALUES
from filetools.tools.dialects import DIALECTS, dialect_named
from tests.support import published
from tests.support.declared import REPOSITORY
from tests.support.published import META, READY, greeting, request

LOADED = ("mcp", "pydantic", "asyncio", "sqlite3", "watchdog", "typer", "rich", "filetools.facade", "filetools.tools")
"""What takes long to import, and no first question needs."""
MOST_MODULES = 250
"""Python itself brings some 60; everything together is more than 1,200."""


def program(arguments: Sequence[str], root: Path) -> list[str]:
    """Return what starts the command alone, as the package does that imports nothing, and tells what it has imported."""
    lines = (
        "import sys, types, os",
        f"package = types.ModuleType('filetools'); package.__path__ = [{str(REPOSITORY / 'filetools')!r}]",
        "sys.modules['filetools'] = package",
        "end = os._exit",
        "def told(code):\n    print('\\n'.join(sys.modules), file=sys.stderr, flush=True); end(code)",
        "os._exit = told",
        f"sys.argv = ['filetools', 'mcp', {str(root)!r}, *{list(arguments)!r}]",
        "from filetools.__main__ import main; main()",
    )
    return [sys.executable, "-c", "\n".join(lines)]


def asked(command: list[str], messages: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """Return the answers to messages after which the input is closed, and what came on standard error."""
    lines = "".join(f"{json.dumps(each)}\n" for each in messages)
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


def test_what_is_published_is_what_the_door_tells() -> None:
    assert PUBLISHED.read_text(encoding="ascii") == published.text(), "python -m tests.support.reference writes it anew"


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {}),
        (("--tools", "core,copy_file", "--structured"), {"tools": ("core", "copy_file"), "structured": True}),
        (("--editor", "--read-only", "--permissions", "guarded"), {"is_editor": True, "only_reads": True}),
        *((("--dialect", each.name), {"dialect": each}) for each in DIALECTS),
        (("--read-only", "--dialect", "claude-code"), {"dialect": dialect_named("claude-code"), "only_reads": True}),
    ],
)
def test_a_client_that_only_looks_is_answered_as_by_the_door_and_nothing_is_loaded(
    tmp_path: Path, arguments: tuple[str, ...], options: dict[str, Any]
) -> None:
    for conversation in (
        [greeting("2025-06-18"), READY, request(2, "tools/list")],
        [greeting("1999-01-01"), READY, request("two", "ping"), request(3, "tools/list", _meta={"progressToken": 1})],
        [request(1, "server/discover", _meta=META), request(2, "tools/list", _meta=META)],
    ):
        told, errors = asked(program(arguments, tmp_path), conversation)
        imported = errors.split()
        assert not set(LOADED) & set(imported)
        assert len(imported) < MOST_MODULES
        assert [each["id"] for each in told] == [each["id"] for each in conversation if "id" in each]
        expected = asyncio.run(published.answers(DoorOptions(**options), conversation))
        assert [each["result"] for each in told] == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("modern", [False, True])
def test_a_call_is_answered_after_the_door_has_heard_the_beginning_again(tmp_path: Path, modern: bool) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    meta = {"_meta": META} if modern else {}
    beginning = [request(1, "server/discover", **meta)] if modern else [greeting(), READY]
    call = request(3, "tools/call", name="read_file", arguments={"path": "a.txt"}, **meta)
    with subprocess.Popen(
        [sys.executable, "-m", "filetools", "mcp", str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        told = []
        for messages in ([*beginning, request(2, "tools/list", **meta)], [call], [request(4, "tools/list", **meta)]):
            server.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages))
            server.stdin.flush()
            told += [json.loads(server.stdout.readline()) for each in messages if "id" in each]
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.wait(60) == 0
    assert [each["id"] for each in told] == [1, 2, 3, 4]
    assert told[2]["result"]["content"][0]["text"].startswith("one\n")
    assert told[1]["result"]["tools"] == told[3]["result"]["tools"]


@pytest.mark.parametrize(
    "messages",
    [
        [request(1, "tools/list")],
        [{**greeting(), "params": {"protocolVersion": "2025-06-18"}}],
        [greeting(), READY, request(2, "tools/list", cursor="x")],
        [greeting(), READY, request(2, "no/such")],
    ],
)
def test_what_is_wrong_is_refused_by_the_door(tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    told, _ = asked([sys.executable, "-m", "filetools", "mcp", str(tmp_path)], messages)
    assert "error" in told[-1]
    assert [each["id"] for each in told] == [each["id"] for each in messages if "id" in each]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tools", "cor"),
        ("--dialect", "claude"),
        ("--permissions", "none"),
        ("--no-such",),
        ("--dialect", "memory", "--editor"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_answered(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "filetools", "mcp", str(tmp_path), *arguments]
    lines = f"{json.dumps(greeting())}\n"
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


def test_the_options_that_are_understood_early_are_those_of_the_command() -> None:
    command: Any = typer.main.get_command(app)
    found = {
        name: each for each in command.commands["mcp"].params for name in each.opts if isinstance(each, TyperOption)
    }
    assert {name for name in FLAGS if found[name].is_flag} == FLAGS
    assert not any(found[name].is_flag for name in VALUES)
    assert (set(VALUES["--permissions"]), set(VALUES["--durability"])) == (
        set(get_args(Preset)),
        set(get_args(Durability)),
    )
