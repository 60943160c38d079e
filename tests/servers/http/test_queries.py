"""Listing and searching over HTTP: every parameter out of its range first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import bearer
from tests.support.http_servers import http_server


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    root = tmp_path_factory.mktemp("looking") / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("import os\nprint(os)\n")
    (root / "notes.md").write_text("notes\n")
    with http_server(root) as serving, bearer.Client(base_url=serving.address, timeout=60) as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "list?unknown=1", "list?limit=0", "list?limit=1001", "list?limit=x", "list?limit=1e3", "list?recursive=maybe",
        "list?max_depth=0", "list?cursor=nonsense", "list?limit=99999999999999999999",
        "search", "search?pattern=", "search?pattern=a&limit=0", "search?pattern=a&cursor=%00",
        "grep", "grep?pattern=", "grep?pattern=(", "grep?pattern=a&context=21", "grep?pattern=a&output_mode=all",
        "grep?pattern=(?=a", "grep?pattern=a&cursor=x", "versions/a?limit=0", "versions/a?limit=1001",
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_422(client: httpx2.Client, query: str) -> None:
    answer = client.get(f"/v1/{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), answer.text


def test_the_problem_says_in_our_words_what_is_wrong(client: httpx2.Client) -> None:
    told = client.get("/v1/list?limit=x&max_depth=0&unknown=1").json()["detail"]
    assert told.split("; ") == [
        "Parameter 'max_depth': expected at least 1, got '0' (a string)",
        "Parameter 'limit': expected an integer, got 'x' (a string)",
        "Unknown parameter 'unknown'",
    ]
    for operation, told in (
        ({"op": "write", "path": "a"}, "Missing parameter 'operations[0].content'"),
        ({"op": "patch", "patch": 5}, "Parameter 'operations[0].patch': expected a string, got 5 (an integer)"),
        ({"op": 5}, "Parameter 'operations[0].op': expected one of 'write', "),
    ):
        assert client.post("/v1/transactions", json={"operations": [operation]}).json()["detail"].startswith(told)
    answer = client.post("/v1/transactions", content=b"{", headers={"Content-Type": "application/json"})
    assert answer.json()["detail"].startswith("The JSON value: invalid JSON: ")
    assert len(client.post("/v1/transactions", json={"n" * 5000: 1}).text) < 1000


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        (f"list?path={'a' * 4097}", 400, "PATH_TOO_LONG"),
        ("list?path=missing", 404, "DIR_NOT_FOUND"),
        ("list?path=notes.md", 409, "NOT_A_DIRECTORY"),
        ("list?path=../x", 400, "PATH_TRAVERSAL"),
        ("list?path=%00", 400, "INVALID_PATH"),
        ("list?path=.filetools", 403, "PERMISSION_DENIED"),
        ("search?pattern=a&path=missing", 404, "DIR_NOT_FOUND"),
        ("grep?pattern=a&path=missing", 404, "FILE_NOT_FOUND"),
        ("versions/%2e%2e", 400, "PATH_TRAVERSAL"),
        ("versions/", 400, "INVALID_PATH"),
    ],
)
def test_where_there_is_nothing_to_look_at(client: httpx2.Client, query: str, status: int, code: str) -> None:
    sent = client.build_request("GET", "/v1/")
    sent.url = sent.url.copy_with(raw_path=f"/v1/{query}".encode())
    answer = client.send(sent)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def names(answer: httpx2.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    return [each["path"] for each in answer.json()["entries"]]


def test_lists_come_in_pages(client: httpx2.Client) -> None:
    first = client.get("/v1/list", params={"recursive": True, "limit": 2})
    assert names(first) == ["src", "src/app.py"]
    rest = client.get("/v1/list", params={"recursive": True, "limit": 2, "cursor": first.json()["next_cursor"]})
    assert names(rest) == ["notes.md"]
    assert names(client.get("/v1/list?path=src&recursive=1&max_depth=1")) == ["src/app.py"]


def test_names_and_contents_are_found(client: httpx2.Client) -> None:
    assert names(client.get("/v1/search", params={"pattern": "*.py"})) == ["src/app.py"]
    found = client.get(
        "/v1/grep", params={"pattern": "PRINT", "ignore_case": True, "context": 1, "glob": "*.py"}
    ).json()
    assert [(each["path"], each["line"], each["before"]) for each in found["matches"]] == [
        ("src/app.py", 2, ["import os"])
    ]
    counted = client.get("/v1/grep", params={"pattern": "os", "output_mode": "count"}).json()
    assert [(each["path"], each["count"]) for each in counted["files"]] == [("src/app.py", 2)]


def test_versions_of_a_path(client: httpx2.Client, tmp_path: Path) -> None:
    for content in (b"1", b"2", b"3"):
        client.put("/v1/files/changing", content=content)
    client.delete("/v1/files/changing")
    told = client.get("/v1/versions/changing").json()["versions"]
    assert [each["size"] for each in told] == [1, 1, 1]
    assert len(client.get("/v1/versions/changing?limit=2").json()["versions"]) < 3
