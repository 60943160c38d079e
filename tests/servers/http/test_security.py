"""Who is answered: hosts, origins, tokens, logins; each refusal first."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from filetools.app.state import own_directory
from filetools.servers.http.options import is_host_name
from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server, refused, request, statuses

TOKEN = "a-token-of-some-length"
STRANGE_HOSTS = (
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:{other}",
    "localhost.evil.example:{port}",
    "127.0.0.1.:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "[::]:{port}",
    "user@127.0.0.1:{port}",
    "127.0.0.1:{port}, evil.example",
    "",
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server with a token, and a code to log in with."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "project").mkdir()
    (folder / "secret").write_text(f"{TOKEN}\n")
    (folder / "secret").chmod(0o600)
    # "true" stands for the browser that --open starts.
    arguments = ("--token-file", str(folder / "secret"), "--open", "--permissions", "allow")
    with http_server(folder / "project", *arguments, environment={"BROWSER": "true"}) as serving:
        yield serving


@pytest.fixture(scope="module")
def login(guarded: HttpServer) -> dict[str, str]:
    """What the page of a browser that has logged in sends: cookie and key."""
    url, code = f"{guarded.address}/login", {"code": guarded.login_code()}
    assert bearer.post(url, json=code, headers={"Origin": "http://evil.example"}).status_code == 403
    assert bearer.post(url, json=code).json()["code"] == "WRONG_ORIGIN"
    answer = bearer.post(url, json=code, headers={"Origin": guarded.address})
    assert answer.json().keys() == {"next", "key"}
    assert bearer.post(url, json=code, headers={"Origin": guarded.address}).status_code == 403, "a code counts once"
    told = answer.headers["set-cookie"]
    assert {part.strip() for part in told.split(";")[1:]} == {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"}
    return {"Cookie": str(told.partition(";")[0]), "Filetools-Login": answer.json()["key"]}


@pytest.mark.parametrize("host", STRANGE_HOSTS)
def test_other_names_are_421(server: HttpServer, host: str) -> None:
    named = host.format(port=server.port, other=server.port + 1)
    for target in ("/v1/status", "/healthz", "/mcp", "/login"):
        assert statuses(server.raw(request(target, named))) == [421]


def test_no_host_or_two_are_refused(server: HttpServer) -> None:
    for lines in ("", f"Host: {server.host}\r\nHost: evil.example\r\n"):
        answer = server.raw(f"GET /healthz HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        assert statuses(answer) in ([400], [421])


@pytest.mark.parametrize("lines", [["Filetools-Session: "], ["Filetools-Session: a b"], [f"Filetools-Session: {'x' * 121}"],
                                   ["Filetools-Session: \xe4"], ["Filetools-Session: a", "Filetools-Session: b"]])  # fmt: skip
def test_a_session_is_named_plainly_or_refused(server: HttpServer, lines: list[str]) -> None:
    for target in ("/v1/status", "/mcp", "/v1/calls"):
        assert statuses(server.raw(request(target, server.host, *lines))) == [422]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that is called by the name of a proxy."""
    root = tmp_path_factory.mktemp("proxied")
    with http_server(root, "--name", "Files.example.org") as serving:
        yield serving


@pytest.mark.parametrize("name", ["https://files.example.org", "files.example.org:443", "*", "", "a b", "-x-", "a\n"])
def test_a_name_is_that_of_a_machine_alone(name: str) -> None:
    assert not is_host_name(name)


def test_a_name_with_a_port_ends_the_command(root: Path) -> None:
    said = refused(root, "--port", "0", "--name", "files.example.org:443")
    assert "leave out scheme and port" in " ".join(said.split())


def test_by_the_name_of_a_proxy_nobody_is_answered_without_the_token(proxied: HttpServer) -> None:
    assert statuses(proxied.raw(request("/v1/status", "files.example.org"))) == [401]
    assert httpx2.get(f"{proxied.address}/v1/status").status_code == 401


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("files.example.org", None, 200),
        ("FILES.example.org:443", None, 200),
        ("files.example.org:8443", None, 200),
        ("evil.files.example.org", None, 421),
        ("files.example.org.evil", None, 421),
        ("files.example.org:x", None, 421),
        ("files.example.org", "https://files.example.org", 200),
        ("files.example.org:443", "https://files.example.org", 200),
        ("files.example.org:8443", "https://files.example.org:8443", 200),
        ("files.example.org", "http://files.example.org", 200),
        ("files.example.org", "https://evil.example", 403),
        ("files.example.org:8443", "https://files.example.org", 403),
        ("127.0.0.1:{port}", "https://127.0.0.1:{port}", 403),
    ],
)
def test_a_proxy_passes_its_own_name_on(proxied: HttpServer, host: str, origin: str | None, status: int) -> None:
    lines = [] if origin is None else [f"Origin: {origin.format(port=proxied.port)}"]
    named = host.format(port=proxied.port)
    token = [] if named == proxied.host else [f"Authorization: Bearer {proxied.token}"]
    assert statuses(proxied.raw(request("/v1/status", named, *token, *lines))) == [status]


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_its_own_names_are_answered(server: HttpServer, host: str) -> None:
    assert statuses(server.raw(request("/healthz", host.format(port=server.port)))) == [200]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}", ""],
)
def test_pages_of_other_origins_are_403(server: HttpServer, origin: str) -> None:
    headers = {"Origin": origin.format(port=server.port)}
    for method, path in (("GET", "/v1/status"), ("PUT", "/v1/files/x"), ("POST", "/mcp"), ("POST", "/login")):
        answer = bearer.request(method, f"{server.address}{path}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "WRONG_ORIGIN")
    assert not (server.root / "x").exists()
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_other_sites_embed_is_403(server: HttpServer, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert bearer.get(f"{server.address}/v1/status", headers=headers).status_code == 403
    assert bearer.get(f"{server.address}/login", headers=headers).status_code == 200


def test_its_own_pages_are_answered(server: HttpServer) -> None:
    for headers in ({"Origin": server.address}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert bearer.get(f"{server.address}/v1/status", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN],
)
def test_without_the_token_nothing_is_told(guarded: HttpServer, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    for path in ("/v1/status", "/v1/files/x", "/mcp", "/metrics", "/openapi.json", "/nowhere", "/"):
        answer = bearer.get(f"{guarded.address}{path}", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "TOKEN_REQUIRED")
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_with_the_token_everything_is(guarded: HttpServer) -> None:
    for scheme in ("Bearer", "bearer"):
        headers = {"Authorization": f"{scheme} {TOKEN}"}
        assert bearer.get(f"{guarded.address}/v1/status", headers=headers).status_code == 200
    assert bearer.get(f"{guarded.address}/healthz").status_code == 200


async def test_mcp_is_at_its_place_for_who_has_the_token(guarded: HttpServer) -> None:
    async with bearer.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        transport = streamable_http_client(f"{guarded.address}/mcp", http_client=http)
        async with Client(transport) as client:
            await client.call_tool("write_file", {"path": "by-mcp", "content": "1"})
    assert (guarded.root / "by-mcp").read_bytes() == b"1"


def test_the_token_makes_an_agent(guarded: HttpServer) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = bearer.put(f"{guarded.address}/v1/files/by-agent", content=b"1", headers=headers)
    assert answer.status_code == 201
    [newest] = bearer.get(f"{guarded.address}/v1/versions/by-agent", headers=headers).json()["versions"]
    assert newest["actor"]["kind"] == "agent"


@pytest.mark.parametrize("code", ["", "x", "x" * 200])
def test_a_code_that_is_none_logs_nobody_in(guarded: HttpServer, code: str) -> None:
    answer = bearer.post(f"{guarded.address}/login", json={"code": code}, headers={"Origin": guarded.address})
    assert (answer.status_code, answer.json()["code"]) == (403, "WRONG_CODE")
    assert "set-cookie" not in answer.headers


def test_a_login_tells_its_origin_where_it_changes_something(guarded: HttpServer, login: dict[str, str]) -> None:
    url = f"{guarded.address}/v1/files/by-person"
    assert bearer.put(url, headers=login).status_code == 403
    assert bearer.put(url, headers=login | {"Origin": "http://evil.example"}).status_code == 403
    assert bearer.get(url, headers=login | {"Sec-Fetch-Site": "cross-site"}).status_code == 403
    answer = bearer.put(url, content=b"1", headers=login | {"Origin": guarded.address})
    assert answer.status_code == 201
    versions = f"{guarded.address}/v1/versions/by-person"
    [newest] = bearer.get(versions, headers=login | {"Sec-Fetch-Site": "same-origin"}).json()["versions"]
    assert newest["actor"]["kind"] == "editor"


def test_a_cookie_alone_is_no_login(guarded: HttpServer, login: dict[str, str]) -> None:
    # Browsers send it to every port of the host, so that other servers on it know it.
    for path in ("/v1/status", "/v1/files/by-person", "/v1/approvals"):
        stolen = {"Cookie": login["Cookie"], "Origin": guarded.address}
        assert bearer.get(f"{guarded.address}{path}", headers=stolen).status_code == 401
        assert bearer.put(f"{guarded.address}{path}", headers=stolen).status_code == 401
    with_token = {"Cookie": login["Cookie"], "Origin": guarded.address, "Authorization": f"Bearer {TOKEN}"}
    assert bearer.put(f"{guarded.address}/v1/files/by-thief", content=b"1", headers=with_token).status_code == 201
    [newest] = bearer.get(f"{guarded.address}/v1/versions/by-thief", headers=with_token).json()["versions"]
    assert newest["actor"]["kind"] == "agent"


def test_a_key_counts_with_its_cookie_and_from_its_origin_alone(guarded: HttpServer, login: dict[str, str]) -> None:
    name, _, secret = login["Cookie"].partition("=")
    key = login["Filetools-Login"]
    wrong = [
        {"Filetools-Login": key},
        *(
            {"Cookie": each, "Filetools-Login": key}
            for each in (f"{name}={secret}x", f"other={secret}", f"{name}={secret}; {name}=x")
        ),
        *({"Cookie": login["Cookie"], "Filetools-Login": each} for each in (f"{key}x", "", secret)),
    ]
    for headers in wrong:
        for more in ({}, {"Authorization": f"Bearer {TOKEN}"}):
            answer = bearer.get(f"{guarded.address}/v1/status", headers=headers | more)
            assert (answer.status_code, answer.json()["code"]) == (401, "LOGIN_OVER"), headers
    other = f"http://localhost:{guarded.port}"
    answer = bearer.put(f"{other}/v1/files/by-other", content=b"1", headers=login | {"Origin": other})
    assert (answer.status_code, answer.json()["code"]) == (401, "LOGIN_OVER")


def test_a_socket_is_guarded_like_any_request(guarded: HttpServer, server: HttpServer, login: dict[str, str]) -> None:
    url = f"ws://{guarded.host}/v1/live"
    cookie, own = {"Cookie": login["Cookie"]}, {"Origin": guarded.address}
    for headers in ({}, login, login | {"Origin": "http://evil.example"}, cookie, cookie | own):
        with pytest.raises(InvalidStatus) as caught, connect(url, additional_headers=headers):
            pass
        assert caught.value.response.status_code in (401, 403)
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(f"ws://{server.host}/v1/live", origin=Origin("http://evil.example")),
    ):
        pass
    assert caught.value.response.status_code == 403


def test_a_page_opens_a_socket_with_its_key_as_a_subprotocol(guarded: HttpServer, login: dict[str, str]) -> None:
    url, headers = f"ws://{guarded.host}/v1/live", {"Cookie": login["Cookie"], "Origin": guarded.address}
    for key, status in ((login["Filetools-Login"], None), ("wrong", 401)):
        offered = [Subprotocol("filetools-live"), Subprotocol(f"filetools-login.{key}")]
        if status is None:
            with connect(url, additional_headers=headers, subprotocols=offered) as socket:
                assert socket.subprotocol == "filetools-live"
                socket.send('{"type": "hello"}')
                assert json.loads(socket.recv())["can_answer"] is True
        else:
            with pytest.raises(InvalidStatus) as caught, connect(url, additional_headers=headers, subprotocols=offered):
                pass
            assert caught.value.response.status_code == status


def test_the_page_to_log_in_stands_alone(server: HttpServer) -> None:
    answer = bearer.get(f"{server.address}/login")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"https?://|src=|href=", answer.text)
    for kind in ("script", "style"):
        found = re.search(f"<{kind}>(.*?)</{kind}>", answer.text, re.DOTALL)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy, "a browser would not use it"


def test_a_root_makes_its_token_where_only_its_user_reads_it(server: HttpServer) -> None:
    own = own_directory(server.root, None)
    assert own is not None
    file = own / "token"
    assert not file.is_relative_to(server.root)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    url = f"http://127.0.0.1:{server.port}"
    for address in (url, f"http://localhost:{server.port}"):
        assert httpx2.get(f"{address}/v1/status").status_code == 401
    headers = {"Authorization": f"Bearer {file.read_text().strip()}"}
    assert bearer.get(f"{url}/v1/status", headers=headers).status_code == 200
    assert bearer.get(f"{url}/v1/files/.filetools/state/token", headers=headers).status_code == 403
    answer = bearer.get(f"{url}/v1/status", headers={**headers, "Host": f"evil.example:{server.port}"})
    assert answer.status_code == 421
