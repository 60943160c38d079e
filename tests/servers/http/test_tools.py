"""Tools over HTTP: refusals with their status, the envelope always, events while they run, and stopping them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

import filetools
from filetools.servers.http.application import http_application
from filetools.servers.http.options import HttpOptions
from filetools.tools.arguments import Parameters
from filetools.tools.tool import Tool, ToolContext
from tests.support import bearer
from tests.support.http_servers import HttpServer

EVENTS = {"Accept": "text/event-stream"}
PATIENCE_SECONDS = 60.0


def call(server: HttpServer, name: str, headers: dict[str, str] | None = None, **arguments: Any) -> httpx2.Response:
    return bearer.post(f"{server.address}/v1/tools/{name}", json=arguments, headers=headers)


def test_an_unknown_tool_is_400_with_the_envelope(server: HttpServer) -> None:
    for answer in (call(server, "red_file"), call(server, "red_file", EVENTS), execute(server, "red_file", {})):
        assert answer.status_code == 400
        assert answer.json()["error_code"] == "UNKNOWN_TOOL"
        assert "read_file" in answer.json()["details"]["available"]


def execute(server: HttpServer, tool: str, given: dict[str, Any]) -> httpx2.Response:
    return bearer.post(f"{server.address}/v1/execute", json={"tool": tool, "input": given})


def test_bad_arguments_are_422_with_the_envelope(server: HttpServer) -> None:
    for answer in (call(server, "read_file", pat="a.txt"), execute(server, "read_file", {"path": 5})):
        assert answer.status_code == 422
        assert answer.json()["error_code"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("body", [b"[]", b"{", b"\xff", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_422(server: HttpServer, body: bytes) -> None:
    for place in ("tools/read_file", "execute"):
        answer = bearer.post(f"{server.address}/v1/{place}", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["success"]) == (422, False)


def test_an_execution_without_a_tool_is_422(server: HttpServer) -> None:
    for body in ({}, {"tool": 5}, {"tool": "read_file", "inputs": {}}, {"tool": "read_file", "input": []}):
        answer = bearer.post(f"{server.address}/v1/execute", json=body)
        assert (answer.status_code, answer.json()["error_code"]) == (422, "INVALID_ARGUMENT")


def test_a_call_name_with_other_characters_is_refused(server: HttpServer) -> None:
    for name in ("a b", "x" * 121):
        assert call(server, "read_file", {"Filetools-Call": name}, path="a.txt").status_code == 422


def test_a_tool_that_fails_is_an_answer_like_any_other(server: HttpServer) -> None:
    answer = call(server, "read_file", path="nowhere.txt")
    assert answer.status_code == 200
    assert answer.json()["error_code"] == "FILE_NOT_FOUND"


def test_replacing_a_file_needs_its_version(server: HttpServer) -> None:
    created = call(server, "write_file", path="versions.txt", content="one\n").json()
    assert created["data"]["created"]
    refused = call(server, "write_file", path="versions.txt", content="two\n")
    assert (refused.status_code, refused.json()["error_code"]) == (200, "VERSION_MISMATCH")
    version = created["data"]["version"]
    assert call(server, "write_file", path="versions.txt", content="two\n", expected_version=version).json()["success"]
    answer = execute(server, "read_file", {"path": "versions.txt"})
    assert (answer.status_code, answer.json()["data"]["content"]) == (200, "two\n")


def test_what_models_get_of_a_text_is_bounded(server: HttpServer) -> None:
    (server.root / "long.txt").write_text("line\n" * 3000)
    data = call(server, "read_file", path="long.txt").json()["data"]
    assert (data["content"], data["truncated"], data["next_offset"]) == ("line\n" * 2000, True, 2001)
    rest = call(server, "read_file", path="long.txt", offset=data["next_offset"]).json()["data"]
    assert (rest["content"], rest["truncated"]) == ("line\n" * 1000, False)


def test_definitions_are_what_the_registry_publishes(server: HttpServer) -> None:
    everything = bearer.get(f"{server.address}/v1/tools").json()["tools"]
    assert {"name", "description", "input_schema"} <= everything[0].keys()
    core = bearer.get(f"{server.address}/v1/tools", params={"groups": "core"}).json()["tools"]
    assert "read_file" in [tool["name"] for tool in core]
    assert len(core) < len(everything)
    assert bearer.get(f"{server.address}/v1/tools", params={"groups": "cor"}).status_code == 422


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return type and data of the events in a stream."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_a_call_tells_its_progress_and_ends_with_the_result(server: HttpServer) -> None:
    items = [{"path": f"many/{number}.txt", "content": ""} for number in range(20)]
    answer = call(server, "write_multiple", EVENTS | {"Filetools-Call": "mine"}, items=items)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["filetools-call"] == "mine"
    *steps, (last, envelope) = events_of(answer.text)
    assert {name for name, _ in steps} == {"progress"}
    assert (last, envelope["success"]) == ("result", True)
    currents = [step["current"] for _, step in steps]
    assert currents == sorted(currents)
    assert currents[-1] == 100


def test_a_stream_of_a_call_that_fails_ends_with_its_envelope(server: HttpServer) -> None:
    [(name, envelope)] = events_of(call(server, "read_file", EVENTS, path="nowhere.txt").text)
    assert (name, envelope["error_code"]) == ("result", "FILE_NOT_FOUND")


async def running(client: httpx2.AsyncClient, server: HttpServer, call_id: str, is_running: bool = True) -> None:
    """Wait until a call runs, or runs no more."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            calls = (await client.get(f"{server.address}/v1/calls")).json()["calls"]
            if (call_id in [each["id"] for each in calls]) is is_running:
                return
            await asyncio.sleep(0.02)


async def test_closing_the_stream_stops_the_call(server: HttpServer) -> None:
    async with bearer.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        headers = EVENTS | {"Filetools-Call": "closed"}
        url = f"{server.address}/v1/tools/watch_changes"
        async with client.stream("POST", url, json={"wait_seconds": 50}, headers=headers):
            await running(client, server, "closed")
        await running(client, server, "closed", is_running=False)


async def fail(_context: ToolContext, parameters: Failing) -> dict[str, Any]:
    if parameters.crash:
        raise ZeroDivisionError("secret")
    return {}


class Failing(Parameters):
    """What the tool of the tests takes."""

    crash: bool = False


@asynccontextmanager
async def with_a_context_tool(root: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client of an application whose agents have one tool more, of the group `context`."""
    tool = Tool(name="fail", description="", parameters=Failing, handler=fail, group="context")
    async with (
        filetools.open(root, settings={"durability": "relaxed"}) as files,
        http_application(files, HttpOptions(token=bearer.TOKEN)) as application,
        bearer.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://127.0.0.1:8765", headers=bearer.HEADERS
        ) as client,
    ):
        application.shared.callers.caller(None).registry.register(tool)
        yield client


async def test_an_execution_that_crashes_is_500_and_tells_nothing_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "filetools")
    async with with_a_context_tool(tmp_path) as client:
        answer = await client.post("/v1/execute", json={"tool": "fail", "input": {"crash": True}})
        told = await client.post("/v1/execute", json={"tool": "fail", "input": {"crash": True}}, headers=EVENTS)
    assert (answer.status_code, answer.json()["success"]) == (500, False)
    assert answer.json()["error"] == "Tool execution failed"
    [(name, envelope)] = events_of(told.text)
    assert (name, envelope) == ("result", answer.json())
    assert "secret" not in answer.text + told.text
    assert "secret" in caplog.text


async def test_a_call_is_stopped_by_its_name(server: HttpServer) -> None:
    async with bearer.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        url = f"{server.address}/v1/tools/watch_changes"
        waiting = asyncio.create_task(
            client.post(url, json={"wait_seconds": 50}, headers={"Filetools-Call": "stopped"})
        )
        await running(client, server, "stopped")
        place = f"{server.address}/v1/calls/stopped"
        other = await client.delete(place, headers={"Filetools-Session": "another"})
        assert (other.status_code, other.json()["code"]) == (403, "PERMISSION_DENIED")
        assert (await client.delete(place)).json() == {"id": "stopped", "aborted": 1}
        answer = await waiting
        assert (answer.status_code, answer.json()["error_code"]) == (200, "ABORTED")
        again = await client.delete(place)
        assert (again.status_code, again.json()["code"]) == (404, "NO_SUCH_CALL")


def test_an_agent_sees_what_waits_and_answers_nothing(server: HttpServer) -> None:
    answer = call(server, "write_file", path=".vscode/settings.json", content="{}").json()
    assert answer["error_code"] == "APPROVAL_REQUIRED"
    approval_id = answer["details"]["approval_id"]
    waiting = bearer.get(f"{server.address}/v1/approvals").json()["approvals"]
    assert approval_id in [request["id"] for request in waiting]
    place = f"{server.address}/v1/approvals/{approval_id}"
    denied = bearer.post(place, json={"answer": "allow"})
    assert (denied.status_code, denied.json()["code"]) == (403, "PERMISSION_DENIED")
    for body in ({}, {"answer": "yes"}, {"answer": "allow", "by": "ann"}):
        assert bearer.post(place, json=body).status_code == 422
    assert not (server.root / ".vscode").exists()


def test_the_envelope_tells_an_agent_once_of_instructions_below_the_root(server: HttpServer) -> None:
    call(server, "write_file", path="told/AGENTS.md", content="rules")
    call(server, "write_file", path="told/a.txt", content="a")
    session = {"Filetools-Session": "told-once"}
    assert call(server, "list_files", session, path="told").json()["instructions"] == ["told/AGENTS.md"]
    assert "instructions" not in call(server, "read_file", session, path="told/a.txt").json()
    assert call(server, "read_file", {"Filetools-Session": "another"}, path="told/a.txt").json()["instructions"]
