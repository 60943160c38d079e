"""The feed over HTTP: bad positions are refused, pages follow each other, and a stream goes on where it was cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server

PATIENCE_SECONDS = 60.0


def write(server: HttpServer, path: str) -> None:
    answer = bearer.post(f"{server.address}/v1/tools/write_file", json={"path": path, "content": ""})
    assert answer.json()["success"], answer.text


def page(server: HttpServer, **query: Any) -> dict[str, Any]:
    answer = bearer.get(f"{server.address}/v1/changes", params=query)
    assert answer.status_code == 200, answer.text
    plain: dict[str, Any] = answer.json()
    return plain


@pytest.mark.parametrize(
    "query", [{"since": "yesterday"}, {"limit": 0}, {"limit": 1001}, {"wait_seconds": 51}, {"limit": "many"}]
)
def test_what_no_page_has_is_refused(server: HttpServer, query: dict[str, Any]) -> None:
    answer = bearer.get(f"{server.address}/v1/changes", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT")


def test_a_stream_from_a_bad_position_or_of_a_bad_path_is_refused_before_it_begins(server: HttpServer) -> None:
    for headers, query in (({"Last-Event-ID": "yesterday"}, {}), ({}, {"since": "5"}), ({}, {"path": "../a"})):
        accepted = {"Accept": "text/event-stream", **headers}
        answer = bearer.get(f"{server.address}/v1/changes", params=query, headers=accepted)
        assert answer.status_code in (400, 422)


def test_pages_follow_each_other(server: HttpServer) -> None:
    for number in range(5):
        write(server, f"pages/{number}.txt")
    seen, position = [], None
    while True:
        found = page(server, path="pages", limit=2, **({"since": position} if position else {}))
        position = found["position"]
        if not found["changes"]:
            break
        assert len(found["changes"]) <= 2
        seen += [change["path"] for change in found["changes"]]
    assert seen == ["pages", *(f"pages/{number}.txt" for number in range(5))]


@asynccontextmanager
async def stream(server: HttpServer, **options: Any) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    headers = {"Accept": "text/event-stream", **options.pop("headers", {})}
    async with (
        bearer.AsyncClient(timeout=PATIENCE_SECONDS) as client,
        client.stream("GET", f"{server.address}/v1/changes", headers=headers, params=options) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer)


async def events(answer: httpx2.Response) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


async def some(told: AsyncIterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    """Return the next events that have data."""
    found: list[dict[str, str]] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found) < count:
            event = await anext(told)
            found += [event] if "data" in event else []
    return found


def paths_of(told: list[dict[str, str]]) -> list[str]:
    return [json.loads(event["data"])["path"] for event in told]


async def test_a_stream_goes_on_after_the_last_event_that_was_read(server: HttpServer) -> None:
    async with stream(server, path="cut") as told:
        begun = await anext(told)
        for number in range(4):
            await asyncio.to_thread(write, server, f"cut/{number}.txt")
        first = await some(told, 3)
    assert "data" not in begun
    assert paths_of(first) == ["cut", "cut/0.txt", "cut/1.txt"]
    assert {event["event"] for event in first} == {"change"}
    await asyncio.to_thread(write, server, "cut/4.txt")
    async with stream(server, path="cut", headers={"Last-Event-ID": first[-1]["id"]}) as told:
        rest = await some(told, 3)
    assert paths_of(rest) == ["cut/2.txt", "cut/3.txt", "cut/4.txt"]
    async with stream(server, path="cut", headers={"Last-Event-ID": begun["id"]}) as told:
        assert paths_of(await some(told, 6)) == paths_of([*first, *rest])


async def test_a_stream_from_another_journal_begins_with_a_resync(server: HttpServer) -> None:
    async with stream(server, headers={"Last-Event-ID": "abcdef:3"}) as told:
        [event] = await some(told, 1)
        assert (event["event"], json.loads(event["data"])["position"]) == ("resync", event["id"])
        await asyncio.to_thread(write, server, "after-resync.txt")
        [event] = await some(told, 1)
        assert paths_of([event]) == ["after-resync.txt"]


async def test_streams_end_when_the_server_stops(root: Path) -> None:
    with http_server(root) as server:
        async with stream(server) as told:
            await anext(told)
            await asyncio.to_thread(server.stop)
            with pytest.raises(StopAsyncIteration):
                await anext(told)
    assert server.process.returncode == 0
