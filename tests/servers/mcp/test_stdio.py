"""The command as clients start it: processes of their own, several on one root."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import filetools
from filetools.app.state import prepare_state
from filetools.app.trust import own_folder
from tests.support.mcp_clients import ERAS, RELAXED, command, process, text

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("place", ["nowhere", "notes.md"])
def test_a_root_that_is_no_folder_is_a_usage_error(root: Path, place: str) -> None:
    ended = subprocess.run(command(str(root / place)), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert place in ended.stderr


def test_nothing_but_the_protocol_is_on_standard_output_and_the_end_of_input_ends_it(root: Path) -> None:
    (own_folder(prepare_state(root, None).directory) or root).joinpath("permissions.json").write_text("{}")
    calls = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "notes.md"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "nope", "arguments": {}}},
    ]  # fmt: skip
    lines = "".join(f"{json.dumps(each)}\n" for each in calls) + "no json\n"
    with subprocess.Popen(
        command(str(root)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(lines)
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(4)]
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(30) == 0
    assert {each["id"] for each in answers} == {1, 2, 3, None}
    assert [json.loads(line)["jsonrpc"] for line in rest.splitlines()] in ([], ["2.0"])


def test_a_process_whose_input_is_closed_does_not_take_itself_apart(root: Path) -> None:
    program = "import atexit; atexit.register(print, 'taken apart'); from filetools.__main__ import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "mcp", str(root)],
        input=f"{json.dumps(HELLO)}\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 0
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_process_reads_and_writes_for_a_client_of_either_era(root: Path, mode: str) -> None:
    async with Client(process(root), mode=mode) as client:
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        assert (await text(client, "read_file", path="notes.md")).startswith("notes\n[notes.md")
        await text(client, "write_file", path="new.txt", content="new\n")
        [contents] = (await client.read_resource((root / "new.txt").as_uri())).contents
        assert contents.model_dump()["text"] == "new\n"
    assert (root / "new.txt").read_text() == "new\n"


async def test_a_call_belongs_to_the_session_that_it_names_else_to_that_of_the_environment(root: Path) -> None:
    server = process(root)
    server.env = {**(server.env or {}), "FILETOOLS_SESSION": "run-0123456789ab"}
    named: Any = {"filetools/session": "own"}
    async with Client(server) as client:
        await client.call_tool("write_file", {"path": "a.txt", "content": "a\n"}, meta=named)
        await client.call_tool("write_file", {"path": "b.txt", "content": "b\n"})
    async with filetools.open(root, settings=RELAXED) as files:
        told = [(each.path, each.actor.kind, each.actor.session) for each in (await files.changes()).records]
    assert told == [("a.txt", "agent", "own"), ("b.txt", "agent", "run-0123456789ab")]
