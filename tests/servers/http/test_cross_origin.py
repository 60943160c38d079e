"""Pages of other origins: none but those that the operator names, and what a browser lets these do and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from filetools.errors import InvalidArgumentError
from filetools.servers.http.options import HttpOptions
from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server, refused, request, statuses

TOKEN = "a-token-of-some-length"
EDITOR = "https://editor.example"
NEIGHBOUR = "http://localhost:3000"
STRANGERS = (
    "https://evil.example",
    "http://editor.example",
    "https://editor.example:8443",
    "https://editor.example.evil",
    "https://sub.editor.example",
    "http://localhost:3001",
    "http://127.0.0.1:3000",
    "null",
    "*",
    "",
)
PREFLIGHT = {
    "Access-Control-Request-Method": "PUT",
    "Access-Control-Request-Headers": "authorization,if-match,mcp-param-x",
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that pages of two other origins may call."""
    root = tmp_path_factory.mktemp("opened") / "project"
    root.mkdir()
    with http_server(root, "--allow-origin", EDITOR, "--allow-origin", NEIGHBOUR) as serving:
        yield serving


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """The same with a token that tests name themselves."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "project").mkdir()
    (folder / "secret").write_text(f"{TOKEN}\n")
    (folder / "secret").chmod(0o600)
    with http_server(folder / "project", "--allow-origin", EDITOR, "--token-file", str(folder / "secret")) as serving:
        yield serving


@pytest.mark.parametrize(
    "given",
    ["*", "null", "", "editor.example", "https://*.editor.example", "https://editor.example/", "https://editor.example/app",
     "https://editor.example?x", "https://editor.example#x", "https://me@editor.example", "ftp://editor.example",
     "file://", "vscode-webview://editor", "https://", "https://:443", "https://editor.example:x", "https://a b",
     "https://editor.example:99999", "https://editor.example https://other.example"],
)  # fmt: skip
def test_what_is_not_one_origin_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not an origin"):
        HttpOptions(origins=(EDITOR, given))


def test_the_command_refuses_it_before_anything_is_opened(root: Path) -> None:
    said = refused(root, "--port", "0", "--allow-origin", EDITOR, "--allow-origin", f"{EDITOR}/app")
    assert f"error INVALID_ARGUMENT: '{EDITOR}/app' is not an origin" in said
    assert "hint: Write each origin as browsers do" in said
    assert not (root / ".filetools").exists()


@pytest.mark.parametrize(
    ("given", "sent"),
    [("HTTPS://Editor.Example:443", "https://editor.example"), ("http://localhost:3000", "http://localhost:3000"),
     ("http://[::0:1]:80", "http://[::1]"), ("https://bücher.example", "https://xn--bcher-kva.example")],
)  # fmt: skip
def test_an_origin_is_kept_as_browsers_send_it(given: str, sent: str) -> None:
    assert HttpOptions(origins=(given,)).origins == (sent,)


@pytest.mark.parametrize("origin", STRANGERS)
def test_other_origins_are_refused_as_ever(opened: HttpServer, origin: str) -> None:
    headers = {"Origin": origin}
    for method, path in (("GET", "/v1/status"), ("PUT", "/v1/files/x"), ("POST", "/mcp"), ("POST", "/login")):
        for asked in (bearer.request(method, f"{opened.address}{path}", headers=headers),
                      bearer.options(f"{opened.address}{path}", headers=headers | PREFLIGHT)):  # fmt: skip
            assert (asked.status_code, asked.json()["code"]) == (403, "WRONG_ORIGIN")
            assert not [name for name in asked.headers if name.startswith("access-control-")]
            assert asked.headers["vary"] == "Origin"
    with pytest.raises(InvalidStatus) as caught, connect(f"ws://{opened.host}/v1/live", origin=Origin(origin)):
        pass
    assert caught.value.response.status_code == 403
    assert not (opened.root / "x").exists()


def test_two_origins_are_none(opened: HttpServer) -> None:
    answer = opened.raw(request("/v1/status", opened.host, f"Origin: {EDITOR}", f"Origin: {EDITOR}"))
    assert statuses(answer) == [403]
    assert b"access-control" not in answer.lower()


def test_the_name_of_the_server_counts_for_them_too(opened: HttpServer) -> None:
    asking = ["Access-Control-Request-Method: PUT"]
    for lines, method in (([], "GET"), (asking, "OPTIONS")):
        sent = request("/v1/status", f"evil.example:{opened.port}", f"Origin: {EDITOR}", *lines, method=method)
        assert statuses(opened.raw(sent)) == [421]


def test_without_an_origin_nothing_is_embedded(opened: HttpServer) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert bearer.get(f"{opened.address}/v1/status", headers=headers).status_code == 403


def test_without_the_option_nobody_is_let_in(server: HttpServer) -> None:
    asked = bearer.options(f"{server.address}/v1/files/x", headers={"Origin": EDITOR} | PREFLIGHT)
    own = bearer.options(f"{server.address}/v1/files/x", headers={"Origin": server.address} | PREFLIGHT)
    assert (asked.status_code, own.status_code) == (403, 405)
    for answer in (asked, own):
        assert not {"access-control-allow-origin", "vary"} & set(answer.headers)


def test_the_token_is_needed_all_the_same(guarded: HttpServer) -> None:
    headers = {"Origin": EDITOR, "Sec-Fetch-Site": "cross-site"}
    for method, path in (("GET", "/v1/status"), ("PUT", "/v1/files/x"), ("POST", "/mcp"), ("OPTIONS", "/v1/status")):
        answer = bearer.request(method, f"{guarded.address}{path}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_REQUIRED")
        assert answer.headers["access-control-allow-origin"] == EDITOR, "a page reads why it is refused"
    for offered in ([], ["filetools-token.wrong"], [f"filetools-token.{TOKEN}", f"filetools-token.{TOKEN}"]):
        with pytest.raises(InvalidStatus) as caught, live(guarded, offered):
            pass
        assert caught.value.response.status_code == 401


def live(server: HttpServer, offered: list[str]) -> ClientConnection:
    """Open a socket as a page of the editor does."""
    names = [Subprotocol(name) for name in ("filetools-live", *offered)]
    known = bearer.headers(server.address)
    return connect(f"ws://{server.host}/v1/live", origin=Origin(EDITOR), subprotocols=names, additional_headers=known)


def test_a_browser_is_told_what_a_page_may_send(guarded: HttpServer) -> None:
    for path in ("/v1/files/x", "/v1/tools/read_file", "/mcp", "/login"):
        answer = bearer.options(f"{guarded.address}{path}", headers={"Origin": EDITOR} | PREFLIGHT)
        assert (answer.status_code, answer.content) == (204, b"")
        told = {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}
        del told["access-control-expose-headers"]
        assert told == {
            "access-control-allow-origin": EDITOR,
            "access-control-allow-credentials": "true",
            "access-control-allow-methods": "GET, HEAD, PUT, PATCH, DELETE, POST",
            "access-control-allow-headers": "authorization,if-match,mcp-param-x",
            "access-control-max-age": "600",
        }
        assert answer.headers["vary"] == "Origin"
    assert not (guarded.root / "x").exists()


def test_a_page_that_is_let_in_writes_reads_and_follows(guarded: HttpServer) -> None:
    headers = {"Origin": EDITOR, "Sec-Fetch-Site": "cross-site", "Authorization": f"Bearer {TOKEN}"}
    url = f"{guarded.address}/v1/files/by-editor"
    put = bearer.put(url, content=b"1", headers=headers)
    assert put.status_code == 201
    for answer in (put, bearer.get(url, headers=headers), bearer.get(f"{url}-not", headers=headers)):
        assert answer.headers["access-control-allow-origin"] == EDITOR
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert {"ETag", "Location", "Content-Range", "Retry-After", "Filetools-Call", "Mcp-Session-Id"} <= set(exposed)
    with bearer.stream(
        "GET", f"{guarded.address}/v1/changes", headers=headers | {"Accept": "text/event-stream"}
    ) as stream:
        assert stream.headers["access-control-allow-origin"] == EDITOR
        assert stream.headers["content-type"].startswith("text/event-stream")


async def test_it_speaks_mcp(guarded: HttpServer) -> None:
    headers = {"Origin": EDITOR, "Sec-Fetch-Site": "cross-site", "Authorization": f"Bearer {TOKEN}"}
    async with bearer.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"{guarded.address}/mcp", http_client=http)
        async with Client(transport) as client:
            await client.call_tool("write_file", {"path": "by-mcp", "content": "1"})
    assert (guarded.root / "by-mcp").read_bytes() == b"1"


def test_its_socket_names_the_token_as_a_subprotocol(guarded: HttpServer) -> None:
    with live(guarded, [f"filetools-token.{TOKEN}"]) as socket:
        assert socket.subprotocol == "filetools-live"
        socket.send('{"type": "hello"}')
        welcome = json.loads(socket.recv())
        assert (welcome["can_answer"], welcome["actor"]["kind"]) == (False, "agent")


def test_its_pages_are_agents(opened: HttpServer) -> None:
    with live(opened, []) as socket:
        socket.send('{"type": "hello"}')
        assert json.loads(socket.recv())["can_answer"] is False
    assert bearer.get(f"{opened.address}/v1/status", headers={"Origin": NEIGHBOUR}).status_code == 200


def test_a_page_of_another_port_logs_in_and_its_login_counts_for_it_alone(root: Path) -> None:
    # A server of its own: a code counts for a minute.
    arguments = ("--allow-origin", EDITOR, "--allow-origin", NEIGHBOUR, "--open")
    with http_server(root, *arguments, environment={"BROWSER": "true"}) as serving:
        code = serving.login_code()
        answer = bearer.post(f"{serving.address}/login", json={"code": code}, headers={"Origin": NEIGHBOUR})
        assert answer.headers["access-control-allow-origin"] == NEIGHBOUR
        login = {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Filetools-Login": answer.json()["key"]}
        for origin, status in ((NEIGHBOUR, 201), (EDITOR, 401), (serving.address, 401)):
            put = bearer.put(
                f"{serving.address}/v1/files/by-{status}", content=b"1", headers=login | {"Origin": origin}
            )
            assert put.status_code == status
