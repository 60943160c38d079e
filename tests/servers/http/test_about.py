from __future__ import annotations

import httpx2

from tests.support.http_servers import HttpServer


def test_the_first_line_tells_the_address(server: HttpServer) -> None:
    assert server.first_line == f"Serving {server.root} at {server.address}\n"


def test_it_says_that_it_lives(server: HttpServer) -> None:
    answer = httpx2.get(f"{server.address}/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert httpx2.head(f"{server.address}/healthz").content == b""


def test_the_state_of_the_workspace(server: HttpServer) -> None:
    answer = httpx2.get(f"{server.address}/v1/status")
    assert answer.status_code == 200
    assert answer.json()["root"] == server.root.name


def test_what_it_has_done_is_counted(server: HttpServer) -> None:
    httpx2.get(f"{server.address}/nowhere")
    text = httpx2.get(f"{server.address}/metrics").text
    assert 'filetools_http_requests_total{method="GET",status="404"}' in text
