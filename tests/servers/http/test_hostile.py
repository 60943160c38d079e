"""What no library sends: each is refused or dropped, and the server goes on answering."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.http_servers import HttpServer, http_server, read_all, request, statuses

LIMITS: dict[str, float] = {
    "body_seconds": 1.0,
    "send_seconds": 1.0,
    "bytes_per_second": 1_000_000,
    "held_bytes": 100_000,
}
MIB = 1024 * 1024
JSON = "Content-Type: application/json"


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that waits for nobody."""
    root = tmp_path_factory.mktemp("hurried") / "project"
    root.mkdir()
    with http_server(root, limits=LIMITS) as serving:
        yield serving


@pytest.fixture(autouse=True)
def _goes_on(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    for name in {"server", "hurried"} & set(request.fixturenames):
        serving: HttpServer = request.getfixturevalue(name)
        assert statuses(
            serving.raw(b"GET /healthz HTTP/1.1\r\nHost: " + serving.host.encode() + b"\r\nConnection: close\r\n\r\n")
        ) == [200]
        assert serving.errors.read_text() == ""


def problem(answer: bytes, status: int, code: str) -> dict[str, Any]:
    """Check that an answer is one problem, and return it."""
    assert statuses(answer) == [status], answer[:300]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    told: dict[str, Any] = json.loads(body)
    assert told["code"] == code
    return told


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_not_http_is_400(server: HttpServer, sent: bytes) -> None:
    with server.socket() as connected:
        connected.sendall(sent)
        connected.shutdown(socket.SHUT_WR)
        answer = read_all(connected)
    if answer:  # what may still become a request is waited for, and then dropped
        assert statuses(answer)[0] in (400, 421, 501)


def test_headers_over_the_limit_are_431(server: HttpServer) -> None:
    problem(server.raw(request("/healthz", server.host, f"A: {'x' * 70_000}")), 431, "HEADERS_TOO_LARGE")
    many = [f"A{number}: {'x' * 100}" for number in range(1000)]
    problem(server.raw(request("/healthz", server.host, *many)), 431, "HEADERS_TOO_LARGE")


def test_a_long_address_is_no_server_error(server: HttpServer) -> None:
    assert statuses(server.raw(request(f"/v1/files/{'a/' * 20_000}", server.host))) == [400]
    assert statuses(server.raw(request(f"/v1/list?path={'%20' * 15_000}", server.host))) == [400]


@pytest.mark.parametrize("path", ["/v1/transactions", "/v1/undo", "/mcp", "/login"])
def test_a_body_over_4_mib_is_413(server: HttpServer, path: str) -> None:
    announced = request(path, server.host, JSON, f"Content-Length: {4 * MIB + 1}", method="POST")
    problem(server.raw(announced), 413, "FILE_TOO_LARGE")
    huge = request(path, server.host, JSON, f"Content-Length: {'9' * 30}", method="POST")
    assert statuses(server.raw(huge))[0] in (400, 413)
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    with server.socket() as connected, suppress(BrokenPipeError, ConnectionResetError):
        connected.sendall(request(path, server.host, JSON, "Transfer-Encoding: chunked", method="POST"))
        for _ in range(6):
            connected.sendall(chunk)
        problem(read_all(connected), 413, "FILE_TOO_LARGE")


def test_an_upload_over_1_gib_is_413(server: HttpServer) -> None:
    announced = request("/v1/files/x", server.host, f"Content-Length: {1024 * MIB + 1}", method="PUT")
    problem(server.raw(announced), 413, "FILE_TOO_LARGE")
    assert not (server.root / "x").exists()


@pytest.mark.parametrize("path", ["/v1/transactions", "/v1/undo", "/mcp"])
@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 200_000, b'"' + b"\\" * 999 + b"[" * 200_000])
def test_deep_json_is_refused_unread(server: HttpServer, path: str, body: bytes) -> None:
    length = f"Content-Length: {len(body)}"
    accept = "Accept: application/json, text/event-stream"
    assert statuses(server.raw(request(path, server.host, JSON, length, accept, method="POST", body=body)))[0] in (
        400,
        422,
    )


@pytest.mark.parametrize("rest", [b"zz\r\n", b"-1\r\nx\r\n", b"ffffffffffffffffffff\r\nx", b"1\r\nxx\r\n0\r\n\r\n"])
def test_broken_chunks_are_refused_and_write_nothing(server: HttpServer, rest: bytes) -> None:
    head = request("/v1/files/chunked", server.host, "Transfer-Encoding: chunked", method="PUT")
    with server.socket() as connected:
        connected.sendall(head + b"3\r\nabc\r\n" + rest)
        connected.shutdown(socket.SHUT_WR)
        assert statuses(read_all(connected)) in ([], [400])
    assert not (server.root / "chunked").exists()


def test_requests_sent_at_once_are_answered_in_order(server: HttpServer) -> None:
    several = [
        request("/v1/files/piped", server.host, "Content-Length: 3", method="PUT", body=b"one"),
        request("/v1/files/piped", server.host),
        request("/nowhere", server.host),
        request("/v1/files/piped", server.host, "Content-Length: 3", method="PUT", body=b"two"),
        request("/v1/files/piped", server.host),
    ]
    sent = b"".join(each.replace(b"Connection: close\r\n", b"") for each in several[:-1]) + several[-1]
    answer = server.raw(sent)
    assert statuses(answer) == [201, 200, 404, 200, 200]
    assert answer.endswith(b"two")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/files/slow"), ("POST", "/v1/undo"), ("POST", "/mcp")])
def test_a_slow_body_is_given_up(hurried: HttpServer, method: str, path: str) -> None:
    with hurried.socket() as connected:
        connected.sendall(request(path, hurried.host, JSON, "Content-Length: 100", method=method, body=b"{"))
        problem(read_all(connected), 408, "TOO_SLOW")
    assert not (hurried.root / "slow").exists()


def test_more_than_is_held_at_once_is_429_and_then_let_go(hurried: HttpServer) -> None:
    def order(size: int) -> bytes:
        body = b"{}".ljust(size)
        return hurried.raw(request("/v1/undo", hurried.host, JSON, f"Content-Length: {size}", method="POST", body=body))

    for _ in range(3):
        answer = order(100_001)
        problem(answer, 429, "RATE_LIMITED")
        assert b"retry-after: 1\r\n" in answer.lower()
        assert statuses(order(100_000)) == [200]


def test_a_client_that_reads_nothing_is_dropped(hurried: HttpServer) -> None:
    (hurried.root / "large").write_bytes(b"x" * 20 * MIB)
    with hurried.socket() as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connected.sendall(request("/v1/files/large", hurried.host))
        assert connected.recv(1) == b"H"
        wait_until_one_is_open(hurried)
        # What lay ready comes now, and then no more.
        assert len(read_all(connected)) < 20 * MIB


def wait_until_one_is_open(serving: HttpServer) -> None:
    """Wait until the server answers no request but the one that asks it."""
    until = time.monotonic() + 60
    while b"\nfiletools_http_open_requests 1\n" not in serving.raw(request("/metrics", serving.host)):
        assert time.monotonic() < until


def test_hundreds_of_idle_connections_stop_nobody(server: HttpServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(100)]
    try:
        assert statuses(server.raw(request("/v1/status", server.host))) == [200]
    finally:
        for each in idle:
            each.close()


def test_a_body_whose_end_is_told_in_two_ways_is_400_and_the_end(server: HttpServer) -> None:
    head = f"POST /v1/tools/write_file HTTP/1.1\r\nHost: {server.host}\r\n{JSON}\r\n"
    hidden = f"GET /healthz HTTP/1.1\r\nHost: {server.host}\r\n\r\n"
    both = ("Content-Length: 4\r\n", "Transfer-Encoding: chunked\r\n")
    for first, second in (both, both[::-1]):
        answer = server.raw(f"{head}{first}{second}\r\n0\r\n\r\n{hidden}".encode())
        problem(answer, 400, "MALFORMED_REQUEST")
        assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "path", ["/v1/tools/write_file", "/v1/execute", "/v1/undo", "/v1/transactions", "/mcp", "/login"]
)
def test_what_is_posted_is_json_and_says_so(server: HttpServer, path: str) -> None:
    body = b'{"path": "posted.txt", "content": "x"}'
    kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "application/jsonx",
    ]
    for header in (*(f"Content-Type: {kind}" for kind in kinds), "X-No-Type: 1"):
        sent = request(path, server.host, header, f"Content-Length: {len(body)}", method="POST", body=body)
        problem(server.raw(sent), 415, "UNSUPPORTED_MEDIA_TYPE")
    assert not (server.root / "posted.txt").exists()
