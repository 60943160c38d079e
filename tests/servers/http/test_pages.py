"""What people read in a browser: that it names nothing to strangers, stands alone, and tells of every route."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server, request, statuses

TOKEN = "a-token-of-some-length"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PAGES = ("/about", "/login")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server with a token, of a root with a name of its own."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "sunflower").mkdir()
    (folder / "secret").write_text(f"{TOKEN}\n")
    (folder / "secret").chmod(0o600)
    with http_server(folder / "sunflower", "--token-file", str(folder / "secret")) as serving:
        yield serving


@pytest.mark.parametrize("path", ["/", *PAGES])
def test_a_stranger_is_told_no_names(guarded: HttpServer, path: str) -> None:
    answer = bearer.get(f"{guarded.address}{path}", headers=BROWSER)
    assert answer.status_code == 200
    told = answer.text + str(answer.headers)
    assert "sunflower" not in told
    assert str(guarded.root.parent) not in told
    assert TOKEN not in told


def test_only_a_page_is_open(guarded: HttpServer) -> None:
    for accept in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            assert bearer.request(method, f"{guarded.address}/", headers=accept).status_code == 401
    for path in ("/v1/status", "/openapi.json", "/docs/", "//", "/nowhere", "/v1/files/"):
        assert bearer.get(f"{guarded.address}{path}", headers=BROWSER).status_code == 401


@pytest.mark.parametrize("path", ["/", *PAGES])
def test_other_origins_and_names_get_no_page(server: HttpServer, path: str) -> None:
    answer = bearer.get(f"{server.address}{path}", headers=BROWSER | {"Origin": "http://evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (403, "WRONG_ORIGIN")
    asked = request(path, f"evil.example:{server.port}", f"Accept: {BROWSER['Accept']}")
    assert statuses(server.raw(asked)) == [421]


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(server: HttpServer) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert bearer.get(f"{server.address}/", headers=BROWSER | followed).status_code == 200
    assert bearer.get(f"{server.address}/", headers=followed).status_code == 403
    assert bearer.get(f"{server.address}/openapi.json", headers=BROWSER | followed).status_code == 403


@pytest.mark.parametrize("path", PAGES)
def test_a_page_stands_alone(server: HttpServer, path: str) -> None:
    answer = bearer.get(f"{server.address}{path}", headers=BROWSER)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    sources = {
        kind: hashlib.sha256(found[1].encode()).digest()
        for kind in ("script", "style")
        if (found := re.search(f"<{kind}>(.*?)</{kind}>", answer.text, re.DOTALL))
    }
    script, style = (f"'sha256-{base64.b64encode(sources[kind]).decode()}'" for kind in ("script", "style"))
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )
    assert not re.search(r"<(?:link|img|iframe|object|base)\b|\bsrc=|\bstyle=|\bon\w+=|@import|url\(", answer.text)
    linked = re.findall(r'href="([^"]*)"', answer.text)
    assert all(each.startswith(("/", "#")) and not each.startswith("//") for each in linked)
    head = bearer.head(f"{server.address}{path}", headers=BROWSER)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(answer.content)))


def test_programs_get_facts_instead_of_a_page(server: HttpServer) -> None:
    assert bearer.get(f"{server.address}/", headers=BROWSER).headers["vary"] == "Accept"
    told = bearer.get(f"{server.address}/")
    assert told.json() == {"server": "filetools", "root": server.root.name, "openapi": "/openapi.json"}
    assert told.headers["vary"] == "Accept"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_a_root_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9")
    root.mkdir()
    with http_server(root, "--state-dir", str(tmp_path / "state")) as serving:
        assert bearer.get(f"{serving.address}/").json()["root"] == "caf?"


def test_the_links_of_the_page_about_the_server_lead_somewhere(server: HttpServer) -> None:
    text = bearer.get(f"{server.address}/about", headers=BROWSER).text
    assert re.findall(r'href="([^"]*)"', text) == ["/"]
    for each in ("/", "/v1/list", "/v1/tools"):
        assert bearer.get(f"{server.address}{each}").status_code == 200


def test_a_login_leads_to_the_page_and_is_told_the_name(root: Path) -> None:
    # A server of its own: a code counts for a minute.
    with http_server(root, "--name", "files.example.org", "--open", environment={"BROWSER": "true"}) as serving:
        code = serving.login_code()
        own = {"Origin": serving.address}
        answer = bearer.post(f"{serving.address}/login", json={"code": code}, headers=own)
        assert answer.json()["next"] == "/"
        # What the page's script sends: browsers tell no origin with it.
        login = {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Filetools-Login": answer.json()["key"]}
        status = bearer.get(f"{serving.address}/v1/status", headers=login | {"Sec-Fetch-Site": "same-origin"})
        assert status.json()["root"] == root.name
