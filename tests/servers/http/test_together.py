"""Transactions and undo over HTTP: all or nothing, and one's own."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.support.http_servers import HttpServer

WRITE = {"op": "write", "path": "t/new", "content": "1"}


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"operations": []},
        {"operations": [{}]},
        {"operations": [{"op": "read", "path": "a"}]},
        {"operations": [{**WRITE, "content": 1}]},
        {"operations": [{**WRITE, "unknown": 1}]},
        {"operations": [{"op": "delete", "path": "a", "recursive": "yes"}]},
        {"operations": [{"op": "edit", "path": "a", "edits": []}]},
        {"operations": [WRITE] * 1001},
        {"operations": [WRITE], "unknown": 1},
        {"operations": [{**WRITE, "encoding": "no-such"}]},
        {"operations": [{**WRITE, "expected_version": "x"}]},
    ],
)
def test_what_is_no_order_is_422(client: httpx2.Client, server: HttpServer, order: dict[str, Any]) -> None:
    answer = client.post("/v1/transactions", json=order)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), answer.text
    assert not (server.root / "t").exists()


@pytest.mark.parametrize(
    ("last", "status", "code"),
    [
        ({"op": "delete", "path": "missing"}, 404, "FILE_NOT_FOUND"),
        ({"op": "write", "path": "../x", "content": ""}, 400, "PATH_TRAVERSAL"),
        ({"op": "write", "path": ".git/x", "content": ""}, 403, "APPROVAL_REQUIRED"),
        ({"op": "move", "source": "t/new", "destination": "t/new/in"}, 422, "INVALID_ARGUMENT"),
        ({"op": "edit", "path": "t/new", "edits": [{"old": "2", "new": ""}]}, 409, "EDIT_NOT_FOUND"),
        ({"op": "patch", "patch": "nonsense"}, 422, "INVALID_ARGUMENT"),
    ],
)
def test_one_refusal_undoes_all(
    client: httpx2.Client, server: HttpServer, last: dict[str, Any], status: int, code: str
) -> None:
    answer = client.post("/v1/transactions", json={"operations": [WRITE, last]})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert not (server.root / "t").exists()


def test_operations_see_each_other_and_are_one_change(client: httpx2.Client, server: HttpServer) -> None:
    (server.root / "old").write_text("old\n")
    operations = [
        {"op": "create_directory", "path": "made"},
        {"op": "write", "path": "made/a", "content": "one\n"},
        {"op": "edit", "path": "made/a", "edits": [{"old": "one", "new": "two"}]},
        {"op": "copy", "source": "made/a", "destination": "made/b"},
        {"op": "move", "source": "old", "destination": "made/old"},
        {"op": "patch", "patch": "--- a/made/b\n+++ b/made/b\n@@ -1 +1 @@\n-two\n+three\n"},
        {"op": "write", "path": "made/bytes", "content": "/wA=", "encoding": "base64"},
    ]
    headers = {"Filetools-Session": "together"}
    answer = client.post("/v1/transactions", json={"operations": operations}, headers=headers)
    assert answer.status_code == 200, answer.text
    paths = [each["path"] for each in answer.json()["changes"]]
    assert sorted(paths) == ["made", "made/a", "made/b", "made/bytes", "made/old"]
    contents = {each.name: each.read_bytes() for each in (server.root / "made").iterdir()}
    assert contents == {"a": b"two\n", "b": b"three\n", "old": b"old\n", "bytes": b"\xff\x00"}
    undone = client.post("/v1/undo", json={}, headers=headers)
    assert undone.status_code == 200
    assert not (server.root / "made").exists()
    assert (server.root / "old").read_text() == "old\n"


@pytest.mark.parametrize(
    "order", [[], None, {"since": -1}, {"since": 2**60}, {"since": "1"}, {"unknown": 1}, {"path": 1}]
)
def test_what_is_no_order_to_undo_is_422(client: httpx2.Client, order: Any) -> None:
    answer = client.post("/v1/undo", json=order)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), answer.text


def test_only_own_changes_are_undone(client: httpx2.Client, server: HttpServer) -> None:
    for name in ("mine", "theirs"):
        client.put(f"/v1/files/of-{name}", content=b"1", headers={"Filetools-Session": name})
    foreign = client.post("/v1/undo", json={"path": "of-theirs"}, headers={"Filetools-Session": "mine"})
    assert foreign.json()["changes"] == []
    client.post("/v1/undo", json={"dry_run": True}, headers={"Filetools-Session": "mine"})
    assert (server.root / "of-mine").exists()
    client.post("/v1/undo", json={}, headers={"Filetools-Session": "mine"})
    assert not (server.root / "of-mine").exists()
    assert (server.root / "of-theirs").exists()
