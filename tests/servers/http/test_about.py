from __future__ import annotations

import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer


def test_the_first_line_tells_the_address(server: HttpServer) -> None:
    assert server.first_line == f"Serving {server.root} at {server.address}\n"


def test_it_says_that_it_lives(server: HttpServer) -> None:
    answer = bearer.get(f"{server.address}/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert bearer.head(f"{server.address}/healthz").content == b""


def test_the_state_of_the_workspace(server: HttpServer) -> None:
    answer = bearer.get(f"{server.address}/v1/status")
    assert answer.status_code == 200
    assert answer.json()["root"] == server.root.name


def test_what_it_has_done_is_counted(server: HttpServer) -> None:
    bearer.get(f"{server.address}/nowhere")
    text = bearer.get(f"{server.address}/metrics").text
    assert 'filetools_http_requests_total{method="GET",status="404"}' in text


@pytest.mark.parametrize(
    "path",
    ["/v1/tools", "/v1/files/none.txt", "/healthz", "/metrics", "/mcp", "/nowhere", "/", "/about", "/assets/live.js"],
)
def test_no_browser_guesses_what_an_answer_is(server: HttpServer, path: str) -> None:
    stranger, host = {"Authorization": "Bearer none"}, {"Host": "evil.example"}
    for method, headers in (("GET", {}), ("HEAD", {}), ("POST", {}), ("GET", stranger), ("GET", host)):
        answer = bearer.request(method, f"{server.address}{path}", headers=headers)
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"], (method, headers)
