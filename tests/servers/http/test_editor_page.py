"""The editor page as it is served: its addresses and policy, that it stands alone, and its size."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from importlib.metadata import files as package_files
from importlib.resources import files as resources
from pathlib import Path

import pytest

from tests.support import bearer
from tests.support.declared import REPOSITORY
from tests.support.http_servers import HttpServer, http_server, request, statuses

pytest.importorskip("rocher")
BROWSER = {"Accept": "text/html"}
WEB = Path(str(resources("filetools.servers.http") / "web"))
OWN = sorted(path for path in WEB.iterdir() if path.is_file())
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'self' 'unsafe-inline';"
    " font-src 'self' data:; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WITHOUT_ROCHER = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "rocher":
            raise ModuleNotFoundError("No module named 'rocher'", name=name)

sys.meta_path.insert(0, Missing())
"""


def linked(server: HttpServer) -> list[str]:
    """The addresses of the page's own files."""
    found = re.findall(r'(?:src|href)="([^"]+)"', bearer.get(f"{server.address}/", headers=BROWSER).text)
    assert found
    return found


def monaco_of(server: HttpServer) -> tuple[str, str]:
    """Where the page has Monaco from: the folder, and the name of its largest file."""
    found = re.search(r'data-monaco="([^"]+)" data-core="([^"]+)"', bearer.get(server.address, headers=BROWSER).text)
    assert found is not None
    return found[1], found[2]


def test_the_page_has_its_policy_and_is_never_kept(server: HttpServer) -> None:
    answer = bearer.get(f"{server.address}/", headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<script>|<style>|\bstyle=|\bon\w+=", answer.text)
    head = bearer.head(f"{server.address}/", headers=BROWSER)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(answer.content)))


def test_every_file_of_the_page_is_there_and_may_be_kept_for_ever(server: HttpServer) -> None:
    for address in linked(server):
        answer = bearer.get(f"{server.address}{address}")
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-security-policy"] == POLICY
        assert bearer.head(f"{server.address}{address}").status_code == 200


def test_live_js_has_an_address_that_stays(server: HttpServer) -> None:
    first = bearer.get(f"{server.address}/assets/live.js")
    assert first.content == (WEB / "live.js").read_bytes()
    assert first.headers["cache-control"] == "no-cache"
    tag = first.headers["etag"]
    again = bearer.get(f"{server.address}/assets/live.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = bearer.get(f"{server.address}/assets/live.js", headers={"If-None-Match": '"another"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "tail",
    [
        "../editor_page.py", "..%2feditor_page.py", "%2e%2e/%2e%2e/v1/list", "MONACO/../rocher.py", "MONACO/..%2frocher.py",
        "MONACO/%2e%2e/%2e%2e/version.py", "MONACO//etc/passwd", "MONACO/", "MONACO/..%5crocher.py", "index.html",
    ],
)  # fmt: skip
def test_nothing_else_is_reached_by_way_of_the_assets(server: HttpServer, tail: str) -> None:
    path = f"/assets/{tail}".replace("/assets/MONACO", monaco_of(server)[0])
    assert statuses(server.raw(request(path, f"127.0.0.1:{server.port}"))) == [404]


def test_monaco_is_served_byte_for_byte(server: HttpServer) -> None:
    base, core = monaco_of(server)
    brought = {str(entry).removeprefix("rocher/vs/"): entry for entry in package_files("rocher") or ()}
    for name in ("loader.js", "editor/editor.main.js", "editor/editor.main.css", core):
        recorded = brought[name].hash
        assert recorded is not None
        content = bearer.get(f"{server.address}{base}/{name}").content
        assert content == Path(str(brought[name].locate())).read_bytes()
        assert hashlib.new(recorded.mode, content).digest().hex() == _hex(recorded.value)


def _hex(value: str) -> str:
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()


def test_what_is_not_read_of_the_page_is_405_with_the_methods(server: HttpServer) -> None:
    answer = bearer.delete(f"{server.address}/assets/live.js")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_other_pages_import_live_js_only_where_their_origin_is_named(server: HttpServer, tmp_path: Path) -> None:
    asked = {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
    assert bearer.get(f"{server.address}/assets/live.js", headers=asked).status_code == 403
    root = tmp_path / "project"
    root.mkdir()
    with http_server(root, "--allow-origin", "http://localhost:3000") as serving:
        answer = bearer.get(f"{serving.address}/assets/live.js", headers=asked)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_without_the_extra_the_first_page_says_what_to_install(root: Path, tmp_path: Path) -> None:
    (tmp_path / "missing").mkdir()
    (tmp_path / "missing" / "sitecustomize.py").write_text(WITHOUT_ROCHER)
    where = os.pathsep.join((str(tmp_path / "missing"), str(REPOSITORY)))
    with http_server(root, environment={"PYTHONPATH": where}, is_fresh=True) as serving:
        text = bearer.get(f"{serving.address}/", headers=BROWSER).text
        assert "agent-filetools[editor]" in text
        assert bearer.get(f"{serving.address}/assets/live.js").status_code == 404


def test_no_file_of_the_page_names_another_machine() -> None:
    for path in OWN:
        named = re.findall(r"(?:https?|wss?)://[\w.-]+", path.read_text())
        assert set(named) <= {"http://www.w3.org", "http://127.0.0.1"}, path.name


def test_the_page_stays_small() -> None:
    assert sum(path.stat().st_size for path in OWN) <= 120 * 1024
