"""The command as clients start it: processes of their own, several on one root."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

import filetools
from filetools.app.state import prepare_state
from filetools.app.trust import own_folder
from filetools.content.text_edits import TextEdit, apply_text_edits
from tests.support.mcp_clients import ERAS, RELAXED, command, facts, process, text
from tests.support.mcp_people import Person, one_round, shown_to, state_of

ROUNDS = 10

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


class Editor:
    """An editor as one would be written: it keeps the text and takes in what others do."""

    def __init__(self, client: Client, opened: dict[str, Any]) -> None:
        self._client = client
        self._handle = opened["handle"]
        self._version = opened["buffer_version"]
        self.text = opened["text"]
        self.address = f"filetools:///buffers/{self._handle}"

    async def type(self, start: int, typed: str) -> None:
        """Type at a place, and take in what others did since."""
        edit = TextEdit(start, start, typed)
        told = await facts(
            self._client, "buffer_change", handle=self._handle, buffer_version=self._version,
            edits=[{"start": start, "end": start, "text": typed}],
        )  # fmt: skip
        self._take(apply_text_edits(self.text, [edit]), told)

    async def look(self) -> None:
        """Take in what others did."""
        told = await facts(self._client, "buffer_change", handle=self._handle, buffer_version=self._version, edits=[])
        self._take(self.text, told)

    async def save(self) -> None:
        told = await facts(self._client, "buffer_save", handle=self._handle, buffer_version=self._version)
        self._take(self.text, told)

    def _take(self, mine: str, told: dict[str, Any]) -> None:
        self.text = apply_text_edits(
            mine, [TextEdit(each["start"], each["end"], each["text"]) for each in told["edits"]]
        )
        self._version = told["buffer_version"]


async def test_an_editor_and_an_agent_in_two_processes_work_on_one_text(root: Path) -> None:
    path = root / "src" / "app.py"
    async with Client(process(root, "--editor")) as person, Client(process(root)) as agent:
        editor = Editor(person, await facts(person, "buffer_open", path="src/app.py"))
        for number in range(ROUNDS):
            await editor.type(0, f"# typed {number}\n")
            async with asyncio.timeout(60):
                # The agent's process hears of it a moment after it was acknowledged here.
                while not (seen := await text(agent, "read_file", path="src/app.py")).startswith(f"# typed {number}\n"):
                    pass
        assert "unsaved text of an editor" in seen
        assert path.read_text() == "one\ntwo\nthree\n"

        async with person.listen(resource_subscriptions=[editor.address]) as stream:
            await text(agent, "edit_file", path="src/app.py", old_string="two\n", new_string="two, by the agent\n")
            async with asyncio.timeout(60):
                await anext(stream)
        await editor.look()
        assert "two, by the agent\n" in editor.text
        assert path.read_text() == "one\ntwo, by the agent\nthree\n"
        await text(agent, "edit_file", path="src/app.py", old_string="# typed 7\n", new_string="# typed seven\n")
        await editor.type(0, "# last\n")
        await editor.save()
        assert path.read_text() == editor.text
        expected = ["# last", *(f"# typed {number}" for number in reversed(range(ROUNDS)))]
        expected[expected.index("# typed 7")] = "# typed seven"
        assert editor.text.splitlines() == [*expected, "one", "two, by the agent", "three"]


async def test_the_answer_to_one_process_is_taken_by_another(root: Path) -> None:
    protected: dict[str, Any] = {"path": ".vscode/settings.json", "content": "{}"}
    person = shown_to(Person("cancel"))
    async with Client(process(root), **person) as first, Client(process(root), **person) as second:
        state = await state_of(first, "write_file", protected)
        told = await one_round(second, "write_file", protected, state, "allow")
        assert isinstance(told, CallToolResult)
        assert not told.is_error
    assert (root / ".vscode" / "settings.json").read_text() == "{}"
