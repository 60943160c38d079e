"""The small parts of the server, each by itself."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import Request
from starlette.types import Scope

import filetools
from filetools import errors
from filetools.errors import FileToolsError, PathNotFoundError
from filetools.models.files import DeleteResult
from filetools.servers.http.conditions import Conditions, Tags
from filetools.servers.http.operations import decoded_path, file_location
from filetools.servers.http.options import Hosts, HttpOptions
from filetools.servers.http.problems import STATUS, TITLES, problem_of
from filetools.servers.http.routes.files import get_file, under
from filetools.servers.http.shared import CODE_SECONDS, LOGIN_SECONDS, Logins
from filetools.servers.http.telemetry import Metrics
from tests.support.clocks import Clock
from tests.support.declared import REPOSITORY

ORIGIN = "http://127.0.0.1:8765"


def test_a_code_is_used_up_or_too_late() -> None:
    clock = Clock(0.0)
    logins = Logins(clock)
    assert logins.redeem("made up", ORIGIN) is None
    assert logins.login_of("made up", "made up", ORIGIN) is None
    late, code = logins.new_code(), logins.new_code()
    made = logins.redeem(code, ORIGIN)
    assert made is not None
    assert logins.redeem(code, ORIGIN) is None
    clock.now = CODE_SECONDS + 0.1
    assert logins.redeem(late, ORIGIN) is None
    assert logins.login_of(made.secret, made.key, ORIGIN) is not None
    clock.now = LOGIN_SECONDS + 0.1
    assert logins.login_of(made.secret, made.key, ORIGIN) is None


def test_a_login_is_its_two_secrets_at_its_origin() -> None:
    logins = Logins()
    made, other = (logins.redeem(logins.new_code(), ORIGIN) for _ in range(2))
    assert made is not None
    assert other is not None
    assert logins.login_of(made.secret, made.key, None) is not None
    assert logins.login_of(made.secret, other.key, ORIGIN) is None
    assert logins.login_of(made.secret, made.secret, ORIGIN) is None
    assert logins.login_of(made.key, made.key, ORIGIN) is None
    assert logins.login_of(made.secret, made.key, "http://127.0.0.1:8766") is None


async def test_what_is_made_meanwhile_is_not_taken_for_what_the_conditions_have_seen(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings={"durability": "relaxed"}) as files:

        async def delete(version: str | None) -> DeleteResult:
            await files.create_file("new.txt", b"theirs")
            return await files.delete_file("new.txt", expected_version=version)

        with pytest.raises(PathNotFoundError):
            await under(Conditions(None, Tags("*")), files, "new.txt", delete)
        assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize(
    "path", ["a", "ä ö/%", "100%.txt", "?#[]@!$&'()*+,;=", "a\nb", "日本/語", "%41", "%2e", "a%20b", "a//b"]
)
def test_a_path_comes_back_from_its_location(path: str) -> None:
    assert decoded_path(file_location(path).removeprefix("/v1/files/")) == path


def test_every_error_has_a_status_and_no_server_error_without_a_reason() -> None:
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FileToolsError)}
    known = [code for several in STATUS.values() for code in several]
    assert codes - {"BATCH_FAILED"} == set(known)
    assert len(known) == len(set(known))
    assert set(STATUS) <= set(TITLES)


def test_a_problem_tells_all_that_repairs_the_request() -> None:
    busy = problem_of(errors.FileBusyError("a"))
    assert (busy.status, busy.headers) == (423, {"Retry-After": "5"})
    assert json.loads(bytes(busy.response({"path": "/v1/files/a"}).body)) == {
        "title": "Locked", "status": 423, "detail": "Another program is still writing a", "code": "FILE_BUSY",
        "retryable": True, "details": {"path": "a"},
        "suggested_action": "Wait until the other program has finished writing, then retry",
    }  # fmt: skip
    assert problem_of(errors.RateLimitedError("slowly")).headers == {"Retry-After": "1"}
    mismatch = errors.VersionMismatchError("a", "x", "y")
    assert problem_of(mismatch).status == 409


def test_a_host_is_a_name_given_or_the_address_called() -> None:
    scope: Scope = {"server": ("192.0.2.7", 80)}
    hosts = Hosts(HttpOptions(host="0.0.0.0", port=80, names=("Files.Example",)))
    assert hosts.is_own_host("files.example", scope)
    assert hosts.is_own_host("files.example:80", scope)
    assert hosts.is_own_host("192.0.2.7", scope)
    assert not hosts.is_own_host("192.0.2.8", scope)
    assert not hosts.is_own_host(None, scope)
    assert hosts.is_own_origin("http://files.example", "files.example", scope)
    assert not hosts.is_own_origin("http://192.0.2.7", "files.example", scope)
    assert hosts.is_own_origin("https://files.example", "files.example", scope)
    assert not hosts.is_own_origin("https://192.0.2.7", "192.0.2.7", scope)
    assert not hosts.is_own_origin("https://other.example", "files.example", scope)


def test_the_name_of_the_machine_is_its_own() -> None:
    hosts, name = Hosts(HttpOptions()), socket.gethostname()
    assert hosts.is_own_host(f"{name}:8765", {})
    assert not hosts.is_own_host(name, {})


def test_methods_that_clients_make_up_are_counted_as_one() -> None:
    metrics = Metrics()
    for number in range(1000):
        metrics.note(f"MADE-UP-{number}", 405, 0.001)
    metrics.note("GET", 200, 3.0)
    text = metrics.text({"one": ("Meaning.", 1.5)})
    assert 'filetools_http_requests_total{method="other",status="405"} 1000\n' in text
    assert "filetools_http_request_seconds_sum 4.000000\nfiletools_http_request_seconds_count 1001\n" in text
    assert text.endswith("# HELP one Meaning.\n# TYPE one gauge\none 1.5\n")


def test_a_request_is_a_span_of_its_caller() -> None:
    # In a process of its own: who makes spans is decided once for each.
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.spans"], cwd=REPOSITORY, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == {
        "name": "GET",
        "parent": "0af7651916cd43dd8448eb211c80319c",
        "attributes": {"http.request.method": "GET", "url.path": "/x", "http.response.status_code": 204},
    }


@pytest.mark.parametrize("asked", [[], [(b"range", b"bytes=1-2")]])
async def test_a_file_that_a_program_wrote_into_is_refused_before_anything_is_sent(
    root: Path, asked: list[tuple[bytes, bytes]]
) -> None:
    (root / "a.txt").write_text("one\n")
    request = Request({"type": "http", "method": "GET", "headers": asked})
    async with filetools.open(root, settings={"watch": False}) as files, files.open_file("a.txt") as file:
        with (root / "a.txt").open("a") as writing:
            writing.write("two\n")
        with pytest.raises(errors.ChangedMeanwhileError):
            await get_file(request, file)
