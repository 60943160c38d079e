"""How `filetools mcp` ends: by a signal or with its input, in the midst of calls or before any."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import BrokenResourceError, create_memory_object_stream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic import TypeAdapter

import filetools
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.server import McpServer
from filetools.servers.mcp.transports import run_until_cancelled
from tests.servers.mcp.test_stdio import HELLO
from tests.support.declared import REPOSITORY
from tests.support.forked import forked
from tests.support.mcp_clients import command

READY: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Started:
    """The command with its input open, forked from a process that has everything loaded."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self.errors = root.parent / f"{root.name}-errors.txt"
        with self.errors.open("w") as errors:
            self.process = forked("filetools.__main__", "mcp", root, *arguments, stderr=errors)

    def exchange(self, messages: Sequence[dict[str, Any]], *, answers: int) -> list[Any]:
        """Send messages, and return so many answers."""
        for each in messages:
            self.process.ask(json.dumps(each))
        return [self.process.hear() for _ in range(answers)]

    def ended(self, by: signal.Signals | None = None) -> tuple[int, str]:
        """End it by a signal, or with its input; return exit code and errors after all that it still answers is JSON-RPC."""
        with self.process:
            if by is None:
                self.process.stdin.close()
            else:
                self.process.send_signal(by)  # which must end it although its input stays open
            assert all(each["jsonrpc"] == "2.0" for each in self.process.rest())
            return self.process.wait(), self.errors.read_text()


@contextmanager
def started(root: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command as clients do, with its input open; it is ended at the latest with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "filetools", "mcp", str(root), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    ) as server:  # fmt: skip
        try:
            yield server
        finally:
            server.kill()


def write(number: int, path: Path | str, content: str) -> dict[str, Any]:
    """Return a call that writes a file."""
    return request(number, "tools/call", name="write_file", arguments={"path": str(path), "content": content})


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
    lines = f"{json.dumps(HELLO)}\n"
    ended = subprocess.run(
        command(str(tmp_path), *arguments), input=lines, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert arguments[1:] != ("cor",) or "did you mean 'core'" in ended.stderr


SIGNALS = [number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(signal, name, None))]
WRITES = 12


@pytest.mark.skipif(os.name != "posix", reason="the signals of POSIX")
@pytest.mark.parametrize(
    ("by", "several"), [*((number, False) for number in SIGNALS), (SIGNALS[0], True), (None, False)]
)
def test_what_ends_it_in_the_midst_of_calls_closes_the_workspace_first(
    tmp_path: Path, by: signal.Signals | None, several: bool
) -> None:
    root, content = tmp_path / "root", "y" * 1_000_000
    root.mkdir()
    server = Started(root, *(("--dialect", "mcp-filesystem") if several else ()))
    place = root if several else Path()
    server.exchange([HELLO, READY, write(2, place / "first", "x")], answers=2)
    server.exchange([write(each, place / f"file{each}", content) for each in range(3, 3 + WRITES)], answers=1)
    assert server.ended(by) == (-by if by else 0, "")
    state = root / ".filetools/state"
    assert sorted(each.name for each in state.iterdir() if each.name.startswith("journal.db")) == ["journal.db"]
    assert list((state / "tmp").iterdir()) == []
    found = {each.name: each.read_text() for each in root.iterdir() if each.is_file()}
    assert found.pop("first") == "x"
    assert set(found.values()) == {content}


@pytest.mark.skipif(os.name != "posix", reason="the signals of POSIX")
def test_a_client_that_reads_nothing_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    root, filled = tmp_path / "root", -1
    root.mkdir()
    (root / "large.txt").write_text(("z" * 99 + "\n") * 1900)
    server = Started(root)
    server.exchange([HELLO, READY], answers=1)
    read = [request(each, "tools/call", name="read_file", arguments={"path": "large.txt"}) for each in range(2, 102)]
    server.exchange(read, answers=0)
    while filled != (filled := waiting_bytes(server.process.stdout.fileno())) or not filled:
        time.sleep(0.2)  # until the pipe holds no more
    with server.process:
        server.process.send_signal(signal.SIGTERM)
        code, said = server.process.wait(), server.errors.read_text().splitlines()
    # The SDK says so of a request that it was still answering.
    said = [line for line in said if not line.endswith("gave up: transport write blocked")]
    assert (code, said) == (-signal.SIGTERM, [])


def waiting_bytes(descriptor: int) -> int:
    """Return how many bytes a pipe holds."""
    found = array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, found)
    return found[0]


@pytest.mark.parametrize("step", [1, 2, 5, 10, 50])
async def test_a_server_cancelled_while_messages_wait_ends_by_the_cancellation_alone(tmp_path: Path, step: int) -> None:
    messages = TypeAdapter[JSONRPCMessage](JSONRPCMessage)
    sender, incoming = create_memory_object_stream[SessionMessage | Exception](200)
    outgoing, answers = create_memory_object_stream[SessionMessage](200)
    for each in [HELLO, READY, *(request(number, "ping") for number in range(2, 150))]:
        sender.send_nowait(SessionMessage(messages.validate_python(each)))
    async with filetools.open(tmp_path) as files, McpServer(files, McpOptions()) as door:
        serving = asyncio.create_task(
            run_until_cancelled(door.server.run(incoming, outgoing, door.server.create_initialization_options()))
        )
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
def test_a_signal_before_anything_is_asked_ends_the_process(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path) as server:
        server.send_signal(number)
        # Before the command has begun, SIGINT is an exception of the interpreter's.
        assert server.wait(60) in (-number, 128 + number)
        assert server.stdout is not None
        assert server.stdout.read() == ""
    assert list(tmp_path.iterdir()) == []
