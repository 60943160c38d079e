"""Descriptors over HTTP: under ids that nobody guesses, read whole or in ranges, by their owner alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server
from tests.support.opened import own_settings

MANY = 400


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    root: Path = tmp_path_factory.mktemp("served") / "project"
    (root / "many").mkdir(parents=True)
    for number in range(MANY):
        (root / "many" / f"a_file_with_a_rather_long_näme_{number:03}.txt").touch()
    with http_server(root, "--tools", "core,descriptors") as serving:
        yield serving


def call(server: HttpServer, name: str, session: str = "", **arguments: Any) -> dict[str, Any]:
    headers = {"Filetools-Session": session} if session else {}
    answer: dict[str, Any] = bearer.post(f"{server.address}/v1/tools/{name}", json=arguments, headers=headers).json()
    return answer


def get(server: HttpServer, fd: str, session: str = "", **headers: str) -> httpx2.Response:
    named = {"Filetools-Session": session} if session else {}
    return bearer.get(f"{server.address}/v1/fds/{fd}", headers={**named, **headers})


@pytest.fixture(scope="module")
def kept(server: HttpServer) -> str:
    fd: str = call(server, "list_files", "mine", path="many")["data"]["fd"]
    return fd


def test_another_session_cannot_tell_it_from_a_missing_one(server: HttpServer, kept: str) -> None:
    missing = "fd:" + "A" * 22
    for session in ("other", ""):
        answers = [get(server, fd, session) for fd in (kept, missing)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].text.replace(kept, missing) == answers[1].text
        told = [call(server, "read_fd", session, fd=fd) for fd in (kept, missing)]
        assert json.dumps(told[0]).replace(kept, missing) == json.dumps(told[1])


@pytest.mark.parametrize("fd", ["fd:1", "x", "%00", "fd:..%2F..", "%ff"])
def test_what_is_no_id_is_404(server: HttpServer, fd: str) -> None:
    assert get(server, fd, "mine").status_code in (400, 404)


def test_a_descriptor_is_read_whole(server: HttpServer, kept: str) -> None:
    answer = get(server, kept, "mine")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert answer.text.count("\n") == MANY
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert get(server, kept, "mine", **{"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_one_range_of_its_bytes_is_read(server: HttpServer, kept: str) -> None:
    whole = get(server, kept, "mine").content
    part = get(server, kept, "mine", Range="bytes=10-49")
    assert (part.status_code, part.content) == (206, whole[10:50])
    assert part.headers["content-range"] == f"bytes 10-49/{len(whole)}"
    assert get(server, kept, "mine", Range="bytes=-5").content == whole[-5:]
    assert get(server, kept, "mine", Range=f"bytes={len(whole)}-").status_code == 416


async def test_where_settings_enable_them_every_door_offers_the_tools(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    own_settings(root, "[file_descriptor]\nenabled = true\nmax_direct_output_chars = 50\n")
    (root / "a.txt").write_text("line\n" * 30)
    with http_server(root) as serving:
        assert call(serving, "read_file", path="a.txt")["data"]["frame"] == "fd_result"
        async with Client(bearer.mcp(serving.address)) as client:
            assert "read_fd" in [tool.name for tool in (await client.list_tools()).tools]
