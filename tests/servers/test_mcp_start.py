"""The start of `filetools mcp`: what is answered before anything is loaded, and how the door goes on from it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from anyio import BrokenResourceError, create_memory_object_stream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic import TypeAdapter

import filetools
from filetools.cli.command import load
from filetools.models.words import Durability, Preset
from filetools.servers.mcp import DoorOptions
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.transports import run_until_cancelled
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


@contextmanager
def started(root: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command with its input open; it is ended at the latest with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "filetools", "mcp", str(root), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    ) as server:  # fmt: skip
        try:
            yield server
        finally:
            server.kill()


def exchange(server: subprocess.Popen[str], messages: Sequence[dict[str, Any]], *, answers: int) -> list[Any]:
    """Send messages, and return so many answers."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages))
    server.stdin.flush()
    return [json.loads(server.stdout.readline()) for _ in range(answers)]


def write(number: int, path: Path | str, content: str) -> dict[str, Any]:
    """Return a call that writes a file."""
    return request(number, "tools/call", name="write_file", arguments={"path": str(path), "content": content})


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
    with started(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        told = exchange(server, [*beginning, request(2, "tools/list", **meta)], answers=2)
        told += exchange(server, [call], answers=1) + exchange(server, [request(4, "tools/list", **meta)], answers=1)
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
    found = {name: each for each in load("mcp").params for name in each.opts if isinstance(each, click.Option)}
    assert {name for name in FLAGS if found[name].is_flag} == FLAGS
    assert not any(found[name].is_flag for name in VALUES)
    assert (set(VALUES["--permissions"]), set(VALUES["--durability"])) == (
        set(get_args(Preset)),
        set(get_args(Durability)),
    )


SIGNALS = [number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(signal, name, None))]
WRITES = 12


@pytest.mark.skipif(os.name != "posix", reason="the signals of POSIX")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_the_midst_of_calls_closes_the_workspace_before_the_process_dies_of_it(
    tmp_path: Path, number: signal.Signals, several: bool
) -> None:
    content = "y" * 1_000_000
    with started(tmp_path, *(("--dialect", "mcp-filesystem") if several else ())) as server:
        place = tmp_path if several else Path()
        exchange(server, [greeting(), READY, write(2, place / "first", "x")], answers=2)
        exchange(server, [write(each, place / f"file{each}", content) for each in range(3, 3 + WRITES)], answers=1)
        server.send_signal(number)
        output, errors = server.communicate(timeout=100)
        assert (server.returncode, errors) == (-number, "")
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in output.splitlines())
    state = tmp_path / ".filetools"
    assert sorted(each.name for each in state.iterdir() if each.name.startswith("journal.db")) == ["journal.db"]
    assert list((state / "tmp").iterdir()) == []
    found = {each.name: each.read_text() for each in tmp_path.iterdir() if each.is_file()}
    assert found.pop("first") == "x"
    assert set(found.values()) == {content}


@pytest.mark.parametrize("step", [1, 2, 5, 10, 50])
async def test_a_server_cancelled_while_messages_wait_ends_by_the_cancellation_alone(tmp_path: Path, step: int) -> None:
    messages = TypeAdapter[JSONRPCMessage](JSONRPCMessage)
    sender, incoming = create_memory_object_stream[SessionMessage | Exception](200)
    outgoing, answers = create_memory_object_stream[SessionMessage](200)
    for each in [greeting(), READY, *(request(number, "ping") for number in range(2, 150))]:
        sender.send_nowait(SessionMessage(messages.validate_python(each)))
    async with filetools.open(tmp_path) as files, Door(files, DoorOptions()) as door:
        serving = asyncio.create_task(run_until_cancelled(door.server.run(incoming, outgoing, door.initialization)))
        for _ in range(step):
            await asyncio.sleep(0)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
    for stream in (sender, incoming, outgoing, answers):
        stream.close()


async def test_what_fails_while_a_server_is_not_cancelled_is_told() -> None:
    async def failing() -> None:
        raise ExceptionGroup("of a server", [BrokenResourceError()])

    with pytest.raises(ExceptionGroup, match="of a server"):
        await run_until_cancelled(failing())


@pytest.mark.skipif(os.name != "posix", reason="the signals of POSIX")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("messages", [[], [greeting(), READY, request(2, "tools/list")]])
def test_a_signal_before_anything_is_loaded_ends_the_process_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, messages: list[dict[str, Any]]
) -> None:
    with started(tmp_path) as server:
        exchange(server, messages, answers=sum("id" in each for each in messages))
        server.send_signal(number)
        # Before the command has begun, SIGINT is an exception of the interpreter's.
        assert server.wait(60) in (-number, 128 + number)
        assert server.stdout is not None
        assert server.stdout.read() == ""
    assert list(tmp_path.iterdir()) == []


def test_the_input_that_is_closed_in_the_midst_of_calls_leaves_a_closed_workspace(tmp_path: Path) -> None:
    content = "y" * 1_000_000
    with started(tmp_path) as server:
        exchange(server, [greeting(), READY, write(2, "first", "x")], answers=2)
        exchange(server, [write(each, f"file{each}", content) for each in range(3, 3 + WRITES)], answers=1)
        _, errors = server.communicate(timeout=100)
        assert (server.returncode, errors) == (0, "")
    state = tmp_path / ".filetools"
    assert sorted(each.name for each in state.iterdir() if each.name.startswith("journal.db")) == ["journal.db"]
    assert {each.read_text() for each in tmp_path.glob("file*")} == {content}
