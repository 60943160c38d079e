"""The description of the routes against the server: whatever is sent, each answer is one that it tells of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from filetools.servers.http.problems import TITLES
from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server

schemathesis = pytest.importorskip("schemathesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402 - after the check that it can be used
from hypothesis.errors import Unsatisfiable  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.generation import GenerationMode  # noqa: E402
from schemathesis.specs.openapi import checks  # noqa: E402

EXAMPLES = 2 * int(os.environ.get("FILETOOLS_DOSE", "1"))
"""For each route."""
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True
)
SLOW = ("/v1/changes", "/v1/live", "/mcp")
"""What waits, as it shall."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    root = tmp_path_factory.mktemp("described") / "project"
    root.mkdir()
    (root / "a").write_text("one\ntwo\n")
    with http_server(root) as serving:
        yield serving
        assert serving.errors.read_text() == ""


@pytest.fixture(scope="module")
def described(served: HttpServer) -> dict[str, Any]:
    return dict(bearer.get(f"{served.address}/openapi.json").json())


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_whatever_is_sent_is_answered_as_described(
    served: HttpServer, described: dict[str, Any], mode: GenerationMode
) -> None:
    quick = {path: item for path, item in described["paths"].items() if path not in SLOW}
    schema = schemathesis.openapi.from_dict(described | {"paths": quick})
    schema.config.update(base_url=served.address)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        send_anything(served, operation, mode)


def send_anything(served: HttpServer, operation: Any, mode: GenerationMode) -> None:
    """Send what fits the description of a route, or what does not, and compare each answer with it."""

    def check(case: Any) -> None:
        answer = case.call_and_validate(checks=CHECKS, timeout=60, headers=bearer.headers(served.address))
        told = operation.definition.raw["responses"]  # "default" is for the errors that have a title
        assert str(answer.status_code) in told or answer.status_code in TITLES, answer.status_code

    with suppress(Unsatisfiable):  # nothing can be wrong with what has no parameters
        given(case=operation.as_strategy(generation_mode=mode))(SETTINGS(check))()


def test_every_operation_tells_of_every_problem(described: dict[str, Any]) -> None:
    for path, item in described["paths"].items():
        for method, operation in item.items():
            told = operation["responses"]
            assert "application/problem+json" in told["default"]["content"], (method, path)
            assert operation["description"], (method, path)
    assert "HTTPValidationError" not in json.dumps(described)


def test_pages_of_the_framework_are_not_there(served: HttpServer) -> None:
    for path in ("/docs", "/redoc"):
        assert bearer.get(f"{served.address}{path}").status_code == 404


def test_all_routes_are_described(described: dict[str, Any]) -> None:
    assert {
        "/healthz", "/metrics", "/v1/status", "/v1/files/{path}", "/v1/versions/{path}", "/v1/list", "/v1/search",
        "/v1/grep", "/v1/transactions", "/v1/undo", "/v1/tools", "/v1/tools/{name}", "/v1/execute", "/v1/calls",
        "/v1/changes", "/v1/approvals",
    } <= set(described["paths"])  # fmt: skip
