"""Files as resources, over real sockets: what is refused first, then what is answered."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, request, statuses

OTHER = '"sha256:' + "0" * 64 + '"'
DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n"


def tag(content: bytes) -> str:
    return f'"sha256:{hashlib.sha256(content).hexdigest()}"'


BEFORE = tag(b"one\ntwo\n")


@pytest.fixture
def text(server: HttpServer) -> str:
    """Name of a file of this test alone, which holds two lines."""
    name = f"{uuid4().hex}.txt"
    (server.root / name).write_bytes(b"one\ntwo\n")
    return name


def refused(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Check that an answer is a problem, whole, and return it."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    problem: dict[str, Any] = answer.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("missing", 404, "FILE_NOT_FOUND"),
        ("", 400, "INVALID_PATH"),
        ("a%2Fb", 400, "INVALID_PATH"),
        ("a%5cb", 400, "INVALID_PATH"),
        ("%00", 400, "INVALID_PATH"),
        ("%ed%a0%80", 400, "INVALID_PATH"),
        ("%", 400, "INVALID_PATH"),
        ("%252e%252e/etc/passwd", 400, "INVALID_PATH"),
        ("../x", 400, "PATH_TRAVERSAL"),
        ("%2e%2e/x", 400, "PATH_TRAVERSAL"),
        ("a" * 256, 400, "PATH_TOO_LONG"),
        (".filetools/state/journal.db", 403, "PERMISSION_DENIED"),
        ("%2efiletools/journal.db", 403, "PERMISSION_DENIED"),
        (".git/config", 404, "FILE_NOT_FOUND"),
    ],
)
def test_no_path_leads_astray(server: HttpServer, path: str, status: int, code: str) -> None:
    # Over a raw socket: clients tidy paths up before they send them.
    answer = server.raw(request(f"/v1/files/{path}", server.host))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert statuses(answer) == [status]
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == code
    assert str(server.root.parent).encode() not in body


def test_a_link_and_a_folder_are_refused(server: HttpServer, client: httpx2.Client) -> None:
    (server.root / "folder").mkdir()
    (server.root / "link").symlink_to("/etc/passwd")
    problem = refused(client.get("/v1/files/link"), 403, "SYMLINK_NOT_ALLOWED")
    assert "/etc" not in json.dumps(problem)
    refused(client.get("/v1/files/folder"), 409, "IS_A_DIRECTORY")
    refused(client.put("/v1/files/folder", content=b""), 409, "IS_A_DIRECTORY")
    refused(client.delete("/v1/files/folder"), 409, "IS_A_DIRECTORY")
    assert server.raw(request("/v1/files/folder/", server.host)).startswith(b"HTTP/1.1 409")


def test_the_bytes_on_disk_with_their_version(client: httpx2.Client, server: HttpServer) -> None:
    content = bytes(range(256)) * 5000
    (server.root / "any.bin").write_bytes(content)
    answer = client.get("/v1/files/any.bin")
    assert (answer.content, answer.headers["etag"]) == (content, tag(content))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["accept-ranges"] == "bytes"
    head = client.head("/v1/files/any.bin")
    assert (head.content, dict(head.headers) | {"date": ""}) == (b"", dict(answer.headers) | {"date": ""})


def test_a_file_shown_by_a_browser_runs_nothing(client: httpx2.Client, server: HttpServer) -> None:
    (server.root / "page.html").write_text("<script>alert(1)</script>")
    answer = client.get("/v1/files/page.html")
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_names_of_any_characters(client: httpx2.Client, server: HttpServer) -> None:
    for name, sent in {
        "ä ö.txt": "%C3%A4%20%C3%B6.txt",
        "100%.txt": "100%25.txt",
        "a\nb": "a%0Ab",
        "?#": "%3F%23",
    }.items():
        answer = client.put(f"/v1/files/{sent}", content=b"1")
        assert answer.status_code == 201, answer.text
        assert (server.root / name).read_bytes() == b"1"
        assert client.get(answer.headers["location"]).content == b"1"


@pytest.mark.parametrize("value", [OTHER, f"W/{tag(b'one')}", '"x", "y"'])
def test_if_match_of_another_version_is_412(client: httpx2.Client, text: str, value: str, server: HttpServer) -> None:
    headers = {"If-Match": value}
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        answer = client.request(method, f"/v1/files/{text}", headers=headers)
        assert answer.status_code == 412
    edits = json.dumps({"edits": [{"old": "one", "new": "1"}]})
    answer = client.patch(f"/v1/files/{text}", content=edits, headers=headers | {"Content-Type": "application/json"})
    problem = refused(answer, 412, "VERSION_MISMATCH")
    assert problem["details"]["current_version"] == BEFORE.strip('"')
    assert (server.root / text).read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("value", ["", "x", '"x" "y"', '"x",', '"', "*, *", ",".join(['"x"'] * 101)])
def test_a_malformed_condition_is_refused_and_not_passed_over(client: httpx2.Client, text: str, value: str) -> None:
    refused(client.put(f"/v1/files/{text}", headers={"If-Match": value}), 400, "MALFORMED_REQUEST")
    refused(client.put(f"/v1/files/{text}", headers={"If-None-Match": value}), 400, "MALFORMED_REQUEST")


def test_a_file_that_must_be_new_or_must_be_there(client: httpx2.Client, text: str, server: HttpServer) -> None:
    refused(client.put(f"/v1/files/{text}", headers={"If-None-Match": "*"}), 412, "VERSION_MISMATCH")
    refused(client.put("/v1/files/not-there", headers={"If-Match": "*"}), 412, "VERSION_MISMATCH")
    refused(client.delete("/v1/files/not-there", headers={"If-Match": "*"}), 412, "VERSION_MISMATCH")
    assert not (server.root / "not-there").exists()
    assert client.put("/v1/files/is-new", content=b"1", headers={"If-None-Match": "*"}).status_code == 201
    assert client.put(f"/v1/files/{text}", content=b"1", headers={"If-Match": "*"}).status_code == 200


@pytest.mark.parametrize("weak", ["", "W/"])
def test_who_has_the_version_gets_304(client: httpx2.Client, text: str, weak: str) -> None:
    for method in ("GET", "HEAD"):
        headers = {"If-None-Match": f"{OTHER}, {weak}{BEFORE}", "Range": "bytes=0-1"}
        answer = client.request(method, f"/v1/files/{text}", headers=headers)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == BEFORE
    assert client.get(f"/v1/files/{text}", headers={"If-None-Match": OTHER}).status_code == 200


@pytest.mark.parametrize("value", ["bytes=8-", "bytes=-0", "bytes=99-100"])
def test_a_range_behind_the_end_is_416(client: httpx2.Client, text: str, value: str) -> None:
    answer = client.get(f"/v1/files/{text}", headers={"Range": value})
    refused(answer, 416, "RANGE_NOT_SATISFIABLE")
    assert answer.headers["content-range"] == "bytes */8"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "bytes=-",
        "bytes=3-2",
        "bytes=0-0,2-2",
        "bytes=\u0660-\u0661",
    ],
)
def test_a_range_that_is_not_known_gets_the_whole(server: HttpServer, text: str, value: str) -> None:
    sent = request(f"/v1/files/{text}", server.host).replace(b"\r\n\r\n", f"\r\nRange: {value}\r\n\r\n".encode())
    answer = server.raw(sent)
    assert statuses(answer) == [200]
    assert answer.endswith(b"one\ntwo\n")


@pytest.mark.parametrize(
    ("value", "part", "told"),
    [
        ("bytes=0-0", b"o", "bytes 0-0/8"),
        ("bytes=4-", b"two\n", "bytes 4-7/8"),
        ("bytes=-4", b"two\n", "bytes 4-7/8"),
        ("Bytes= 1-2", b"ne", "bytes 1-2/8"),
    ],
)
def test_one_range_of_bytes(client: httpx2.Client, text: str, value: str, part: bytes, told: str) -> None:
    answer = client.get(f"/v1/files/{text}", headers={"Range": value})
    assert (answer.status_code, answer.content, answer.headers["content-range"]) == (206, part, told)
    assert answer.headers["content-length"] == str(len(part))


def test_a_range_of_another_version_gets_the_whole(client: httpx2.Client, text: str) -> None:
    known = {"Range": "bytes=0-0", "If-Range": BEFORE}
    assert client.get(f"/v1/files/{text}", headers=known).status_code == 206
    for other in (OTHER, f"W/{BEFORE}", "Fri, 20 Nov 2026 16:00:00 GMT"):
        assert client.get(f"/v1/files/{text}", headers={**known, "If-Range": other}).status_code == 200


def test_a_part_of_a_file_is_not_put(client: httpx2.Client, text: str) -> None:
    answer = client.put(f"/v1/files/{text}", content=b"1", headers={"Content-Range": "bytes 0-0/8"})
    refused(answer, 400, "MALFORMED_REQUEST")
    answer = client.put(f"/v1/files/{text}", content=b"1", headers={"Content-Encoding": "gzip"})
    refused(answer, 415, "UNSUPPORTED_MEDIA_TYPE")


def test_put_creates_and_then_replaces(client: httpx2.Client, server: HttpServer) -> None:
    content = os.urandom(3_000_000)
    made = client.put("/v1/files/new/deep.bin", content=content)
    assert (made.status_code, made.headers["location"], made.headers["etag"]) == (
        201,
        "/v1/files/new/deep.bin",
        tag(content),
    )
    assert (server.root / "new/deep.bin").read_bytes() == content
    replaced = client.put("/v1/files/new/deep.bin", content=b"")
    assert (replaced.status_code, replaced.headers["etag"]) == (200, tag(b""))
    assert "location" not in replaced.headers
    assert replaced.json()["replaced_version"] == tag(content).strip('"')


def test_put_overwrites_without_a_condition_and_says_what(client: httpx2.Client, text: str, server: HttpServer) -> None:
    client.put(f"/v1/files/{text}", content=b"mine")
    (server.root / text).write_bytes(b"theirs")
    answer = client.put(f"/v1/files/{text}", content=b"mine again")
    assert answer.json()["replaced_version"] == tag(b"theirs").strip('"')
    assert (server.root / text).read_bytes() == b"mine again"


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("", b"{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("text/plain", b"x", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ("application/json", b"{", 422, "INVALID_ARGUMENT"),
        ("application/json", b'{"edits": [{"old": "one", "new": 1}]}', 422, "INVALID_ARGUMENT"),
        ("application/json", b'{"edits": [{"old": "one", "new": "1"}], "x": 1}', 422, "INVALID_ARGUMENT"),
        ("application/json", b'{"edits": [{"old": "one", "new": "\\ud800"}]}', 422, "INVALID_ARGUMENT"),
        ("application/json", b'{"edits": [{"old": "three", "new": "1"}]}', 409, "EDIT_NOT_FOUND"),
        ("application/json", b'{"edits": [{"old": "o", "new": "1"}]}', 409, "EDIT_AMBIGUOUS"),
        ("text/x-diff", b"no diff", 422, "INVALID_ARGUMENT"),
        ("text/x-diff", DIFF.replace("one", "three").encode(), 409, "EDIT_NOT_FOUND"),
    ],
)
def test_what_is_no_change_is_refused(
    client: httpx2.Client, text: str, server: HttpServer, kind: str, body: bytes, status: int, code: str
) -> None:
    answer = client.patch(f"/v1/files/{text}", content=body, headers={"Content-Type": kind})
    refused(answer, status, code)
    assert (server.root / text).read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json; charset=utf-8", json.dumps({"edits": [{"old": "one", "new": "1"}]})),
        ("text/x-diff", DIFF),
        ("text/x-patch", DIFF),
    ],
)
def test_patch_changes_a_part(client: httpx2.Client, text: str, server: HttpServer, kind: str, body: str) -> None:
    headers = {"Content-Type": kind, "If-Match": BEFORE}
    answer = client.patch(f"/v1/files/{text}", content=body, headers=headers)
    assert (answer.status_code, answer.headers["etag"]) == (200, tag(b"1\ntwo\n"))
    assert (server.root / text).read_bytes() == b"1\ntwo\n"


def test_a_dry_run_changes_nothing(client: httpx2.Client, text: str, server: HttpServer) -> None:
    body = {"edits": [{"old": "one", "new": "1"}], "dry_run": True}
    answer = client.patch(f"/v1/files/{text}", json=body)
    assert answer.json()["version"] == tag(b"1\ntwo\n").strip('"')
    assert "etag" not in answer.headers
    assert (server.root / text).read_bytes() == b"one\ntwo\n"


def test_delete(client: httpx2.Client, text: str, server: HttpServer) -> None:
    refused(client.delete("/v1/files/missing"), 404, "FILE_NOT_FOUND")
    answer = client.delete(f"/v1/files/{text}", headers={"If-Match": BEFORE})
    assert answer.json()["deleted_version"] == BEFORE.strip('"')
    assert not (server.root / text).exists()


def test_protected_files_need_a_person(client: httpx2.Client, server: HttpServer) -> None:
    problem = refused(client.put("/v1/files/.git/hooks/x", content=b"1"), 403, "APPROVAL_REQUIRED")
    assert problem["suggested_action"]
    assert not (server.root / ".git").exists()


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_no_increment_of_many_clients_is_lost(server: HttpServer, method: str) -> None:
    name = f"counter-{method}"
    (server.root / name).write_bytes(b"0")

    def count(_number: int) -> int:
        refusals = 0
        with bearer.Client(base_url=server.address, timeout=60, verify=False) as own:
            for _ in range(10):
                while (status := increment(own, method, name)) != 200:
                    assert status == 412
                    refusals += 1
        return refusals

    with ThreadPoolExecutor(4) as clients:
        list(clients.map(count, range(4)))
    assert (server.root / name).read_bytes() == b"40"


def increment(client: httpx2.Client, method: str, name: str) -> int:
    """Read a number and write the next, if it still stands there; returns the status of that."""
    now = client.get(f"/v1/files/{name}")
    headers, new = {"If-Match": now.headers["etag"]}, str(int(now.text) + 1)
    if method == "PUT":
        return client.put(f"/v1/files/{name}", content=new, headers=headers).status_code
    edit = {"edits": [{"old": now.text, "new": new}]}
    return client.patch(f"/v1/files/{name}", json=edit, headers=headers).status_code
