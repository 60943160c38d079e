"""The process: what it says, what it refuses to start with, and that it stops whatever is open."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from filetools.app.state import TOKEN_FILE, own_directory
from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server, refused, request, statuses


def test_a_busy_port_is_named(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(root, "--port", str(port))
    assert f"Port {port} of 127.0.0.1 is already in use by another program" in said
    assert "hint: Choose another port, or 0 for any that is free." in said
    assert not (root / ".filetools").exists(), "nothing is opened before it is known that it can be served"


def test_what_cannot_be_served_is_told(root: Path) -> None:
    (root / "short").write_text("x\n")
    (root / "short").chmod(0o600)
    assert "Cannot listen at" in refused(root, "--host", "192.0.2.1", "--port", "0")
    assert "'short' holds no token" in refused(root, "--port", "0", "--token-file", str(root / "short"))
    assert "no tool" in refused(root, "--port", "0", "--tools", "nonsense")


def test_a_browser_is_sent_to_log_in(root: Path) -> None:
    browser = root.parent / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {root.parent}/part && mv {root.parent}/part {root.parent}/opened\n'
    )
    browser.chmod(0o755)
    with http_server(root, "--open", environment={"BROWSER": str(browser)}) as serving:
        token = own_directory(root, None)
        assert token is not None
        header = f'-H "Authorization: Bearer $(cat {token / TOKEN_FILE})"'
        assert serving.token_line == f"Callers need the token: curl {header} {serving.address}/v1/list\n"
        said = serving.line()
        assert said.startswith(f"Log in, once and within a minute: {serving.address}/login#code=")
        printed = said.split()[-1]
        assert log_in(printed) == 200
        assert log_in(printed) == 403, "a code counts once"
        serving.stop()  # which waits for the browser command as well
    opened = (root.parent / "opened").read_text()
    assert opened.startswith(f"{serving.address}/login#code=")
    assert opened != printed, "the browser would use up the printed one"


def log_in(link: str) -> int:
    """Log in with an address that was printed, and return the status."""
    address, _, code = link.partition("/login#code=")
    return bearer.post(f"{address}/login", json={"code": code}, headers={"Origin": address}).status_code


def test_a_socket_that_is_refused_is_no_news(root: Path) -> None:
    with http_server(root) as serving:
        for headers in ({}, {"Filetools-Login": "of the server before", "Origin": serving.address}):
            with pytest.raises(InvalidStatus), connect(f"ws://{serving.host}/v1/live", additional_headers=headers):
                pass
        serving.stop()
        assert serving.errors.read_text() == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_what_listens_everywhere_tells_addresses_that_can_be_opened(root: Path, host: str) -> None:
    # The one test that listens beyond this machine's own address, because that is what it is about; the token guards it.
    if host == "::" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with http_server(root, "--host", host, "--open", environment={"BROWSER": "true"}) as serving:
        assert serving.address == f"http://{'[::1]' if host == '::' else '127.0.0.1'}:{serving.port}"
        lines = [serving.line()]
        while "Log in" not in lines[-1]:
            lines.append(serving.line())
        elsewhere = [line.split()[-1] for line in lines if line.startswith("Other machines reach it at ")]
        *_, last = [serving.address, *elsewhere]
        assert lines[-1].startswith(f"Log in, once and within a minute: {last}/login#code=")
        for address in (serving.address, *elsewhere):
            assert httpx2.get(f"{address}/v1/status").json()["code"] == "TOKEN_REQUIRED"
        assert log_in(lines[-1].split()[-1]) == 200


@contextmanager
def all_kinds_of_sockets(serving: HttpServer) -> Iterator[list[socket.socket]]:
    """Open what a server waits for: silence, half a request, half a body, an unread answer, followers, a live socket."""
    (serving.root / "large").write_bytes(b"x" * 20_000_000)
    sent = [
        b"",
        b"GET / HTTP/1.1\r\n",
        request("/v1/files/half", serving.host, "Content-Length: 100", method="PUT", body=b"half"),
        request("/v1/undo", serving.host, "Content-Length: 100", method="POST", body=b"{"),
        request("/v1/files/large", serving.host),
        request("/v1/changes", serving.host, "Accept: text/event-stream"),
        request("/v1/changes?wait_seconds=50&since=now", serving.host),
        request("/mcp", serving.host, "Accept: text/event-stream"),
        request("/healthz", serving.host).replace(b"Connection: close\r\n", b""),
    ]
    with ExitStack() as stack:
        opened = [stack.enter_context(serving.socket()) for _ in sent]
        for each, text in zip(opened, sent, strict=True):
            each.sendall(text)
        assert opened[4].recv(1) == b"H"
        assert opened[5].recv(1) == b"H"
        stack.enter_context(
            connect(f"ws://{serving.host}/v1/live", additional_headers=bearer.headers(serving.address), close_timeout=1)
        )
        yield opened


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_stops_with_open_sockets(root: Path, by: int) -> None:
    with http_server(root) as serving:
        assert statuses(
            serving.raw(request("/v1/files/kept", serving.host, "Content-Length: 1", method="PUT", body=b"1"))
        ) == [201]
        with all_kinds_of_sockets(serving):
            serving.stop(by)
        assert (serving.process.returncode, serving.errors.read_text()) == (0, "")
    assert not (root / "half").exists()
    assert (root / "kept").read_bytes() == b"1"


def test_a_port_can_be_taken_again_at_once(root: Path) -> None:
    with http_server(root) as serving:
        serving.raw(request("/healthz", serving.host))
        port = serving.port
        serving.stop()
    with http_server(root, "--port", str(port)) as again:
        assert again.first_line.endswith(f"http://127.0.0.1:{port}\n")


def test_two_servers_share_one_root(server: HttpServer) -> None:
    with http_server(server.root) as other:
        body = os.urandom(8)
        sent = request("/v1/files/shared", other.host, "Content-Length: 8", method="PUT", body=body)
        assert statuses(other.raw(sent)) == [201]
        assert server.raw(request("/v1/files/shared", server.host)).endswith(body)
