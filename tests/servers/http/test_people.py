"""What a person who has logged in may do that no agent may: answer approvals, over routes and over the live protocol."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from websockets.exceptions import InvalidStatus

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server, logged_in
from tests.support.live_clients import LiveClient, live, socket_of
from tests.support.mcp_clients import ERAS, text_of
from tests.support.mcp_people import Person, shown_to

PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server at which a person has logged in."""
    root = tmp_path_factory.mktemp("people") / "project"
    root.mkdir()
    # "true" stands for the browser that --open starts.
    with http_server(root, "--open", environment={"BROWSER": "true"}) as serving:
        yield serving


@pytest.fixture(scope="module")
def person(server: HttpServer) -> dict[str, str]:
    return logged_in(server)


async def written(server: HttpServer, path: str) -> dict[str, Any]:
    """Have an agent write a file that is protected, and return the envelope."""
    async with bearer.AsyncClient(timeout=PATIENCE_SECONDS) as agent:
        answer = await agent.post(f"{server.address}/v1/tools/write_file", json={"path": path, "content": "{}"})
    envelope: dict[str, Any] = answer.json()
    return envelope


async def test_a_login_without_the_origin_opens_no_socket(server: HttpServer, person: dict[str, str]) -> None:
    for origin in (None, "http://evil.example"):
        headers = {name: value for name, value in (person | {"Origin": origin}).items() if value is not None}
        with pytest.raises(InvalidStatus):
            async with socket_of(server.address, headers=headers):
                pass


async def test_a_cookie_alone_answers_nothing(server: HttpServer, person: dict[str, str]) -> None:
    stolen = {"Cookie": person["Cookie"], "Origin": person["Origin"]}
    async with live(server.address, headers=stolen) as thief:
        assert (thief.heard[0]["can_answer"], thief.heard[0]["actor"]["kind"]) == (False, "agent")
    failed = await written(server, ".vscode/stolen.json")
    place = f"{server.address}/v1/approvals/{failed['details']['approval_id']}"
    assert bearer.post(place, json={"answer": "allow"}, headers=stolen).status_code == 403
    assert (await written(server, ".vscode/stolen.json"))["error_code"] == "APPROVAL_REQUIRED"


async def test_a_call_waits_for_the_person_at_the_page(server: HttpServer, person: dict[str, str]) -> None:
    async with live(server.address, headers=person) as page, live(server.address) as agent:
        assert (page.heard[0]["can_answer"], page.heard[0]["actor"]["kind"]) == (True, "editor")
        for number, (answer, code) in enumerate((("allow", None), ("deny", "APPROVAL_DENIED"))):
            path = f".vscode/{number}.json"
            call = asyncio.create_task(written(server, path))
            request = await asked(page, path)
            assert request["request"]["diff"]
            given = {"approval_id": request["approval_id"], "answer": answer}
            await agent.refused("PERMISSION_DENIED", "answer", **given)
            await page.do("answer", **given)
            assert (await call).get("error_code") == code
            assert (server.root / path).exists() is (code is None)
            state = "denied" if code else "allowed"
            await agent.frame("approval", state=state, approval_id=request["approval_id"])


async def test_agents_at_every_door_are_asked_with_what_they_would_write(
    server: HttpServer, person: dict[str, str]
) -> None:
    place = f"{server.address}/v1/files/put.txt"
    answer = bearer.put(place, content=b"TEXT\n")
    assert (answer.status_code, "APPROVAL_REQUIRED" in answer.text) == (403, True)
    asked = bearer.get(f"{server.address}/v1/approvals", headers=person).json()["approvals"]
    assert "+TEXT\n" in next(each["diff"] for each in asked if each["path"] == "put.txt")
    given = '{"path": "call.txt", "content": "TEXT\\n"}'
    command = ("call", "write_file", given, "--actor", "alice", "--root", str(server.root))
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-m", "filetools", *command], capture_output=True)
    assert json.loads(done.stdout)["error_code"] == "APPROVAL_REQUIRED"
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "filetools", "mcp", str(server.root)], env=dict(os.environ)
    )
    async with Client(started) as agent:
        refused = await agent.call_tool("write_file", {"path": "mcp.txt", "content": "TEXT\n"})
    assert "APPROVAL_REQUIRED" in text_of(refused)


async def asked(page: LiveClient, path: str) -> dict[str, Any]:
    """Return the question about a path, once it has come."""

    def found() -> list[dict[str, Any]]:
        asked = [frame for frame in page.of("approval") if frame["state"] == "asked"]
        return [frame for frame in asked if frame["request"]["path"] == path]

    await page.until(found)
    return found()[0]


async def test_without_a_page_a_late_answer_lets_the_next_call_pass(server: HttpServer, person: dict[str, str]) -> None:
    failed = await written(server, ".vscode/late.json")
    assert failed["error_code"] == "APPROVAL_REQUIRED"
    place = f"{server.address}/v1/approvals/{failed['details']['approval_id']}"
    assert bearer.post(place, json={"answer": "allow"}).status_code == 403
    answer = bearer.post(place, json={"answer": "allow"}, headers=person)
    assert (answer.status_code, answer.json()["answer"]) == (200, "allow")
    assert bearer.post(place, json={"answer": "allow"}, headers=person).status_code == 422
    assert (await written(server, ".vscode/late.json"))["success"]


@pytest.mark.parametrize("mode", ERAS)
async def test_an_agent_over_mcp_does_not_answer_for_a_person(server: HttpServer, mode: str) -> None:
    pretended = Person("accept", "allow")
    path = f".vscode/mcp-{mode}.json"
    async with Client(bearer.mcp(server.address), mode=mode, **shown_to(pretended)) as agent:
        refused = await agent.call_tool("write_file", {"path": path, "content": "{}"})
    assert refused.is_error
    assert "APPROVAL_REQUIRED" in text_of(refused)
    assert pretended.asked == []
    assert not (server.root / path).exists()


async def test_a_person_stops_the_call_of_an_agent(server: HttpServer, person: dict[str, str]) -> None:
    async with live(server.address, headers=person) as page, bearer.AsyncClient(timeout=PATIENCE_SECONDS) as agent:
        headers = {"Filetools-Call": "long", "Filetools-Session": "agent-1"}
        url = f"{server.address}/v1/tools/watch_changes"
        call = asyncio.create_task(agent.post(url, json={"wait_seconds": 50}, headers=headers))
        await page.frame("event", event="agent:tool:started", tool_call_id="long")
        await page.do("abort", call="long")
        assert (await call).json()["error_code"] == "ABORTED"
