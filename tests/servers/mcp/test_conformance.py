"""The official suite against our door; a longer check.

It is no test of the suite's: what fails is compared exactly with what `docs/conformance.yml` says, both ways.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.declared import REPOSITORY
from tests.support.http_servers import http_server
from tests.support.node import PREVIEW, RELEASE, program

pytestmark = pytest.mark.timeout(300)
DECLARED = REPOSITORY / "docs" / "conformance.yml"
SCRIPT = "dist/index.js"
RUNS = (
    (RELEASE, ("--suite", "all")),
    (PREVIEW, ("--requirements", "2025-11-25")),
    (PREVIEW, ("--requirements", "2026-07-28")),
)
RUN_NAMES = ("release", "2025-11-25", "2026-07-28")


@dataclass(frozen=True)
class Outcome:
    """What came of one run: scenarios that were run, and checks that failed, as `scenario:check`."""

    ran: frozenset[str]
    failed: frozenset[str]

    def missed(self, expected: set[str]) -> set[str]:
        """What was expected to fail, of what was run, and passed."""
        scenarios = {each.partition(":")[0] for each in self.failed}
        return {each for each in expected if each.partition(":")[0] in self.ran} - self.failed - scenarios

    def surprising(self, expected: set[str]) -> set[str]:
        """What failed although nobody expected it; a whole scenario that may fail must still speak the protocol."""
        return {
            each
            for each in self.failed
            if each not in expected and (each.partition(":")[0] not in expected or each.endswith(":wire-schema-valid"))
        }


def declared() -> dict[str, str]:
    """The expected failures, each with the reason that stands above its group."""
    found: dict[str, str] = {}
    reason = ""
    for line in DECLARED.read_text().partition("server:\n")[2].splitlines():
        if comment := re.fullmatch(r"  # (.+)", line):
            reason = f"{reason} {comment[1]}".strip()
        elif entry := re.fullmatch(r"  - (\S+)", line):
            assert entry[1] not in found, f"{entry[1]} is declared twice"
            found[entry[1]] = reason
        else:
            assert line == "", line
            reason = ""
    return found


def outcome_of(results: Path) -> Outcome:
    ran, failed = set(), set()
    for checks in results.glob("*/checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", checks.parent.name).removeprefix("server-")
        ran.add(name)
        failed |= {f"{name}:{check['id']}" for check in json.loads(checks.read_text()) if check["status"] == "FAILURE"}
    return Outcome(frozenset(ran), frozenset(failed))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the server is."""
    for package in (RELEASE, PREVIEW):
        program(package, SCRIPT)
    root = tmp_path_factory.mktemp("conformance") / "project"
    root.mkdir()
    (root / "watched.txt").write_text("watched\n")
    with http_server(root, limits={}) as server:  # the suite sends no token
        yield f"{server.address}/mcp"


def test_every_expected_failure_has_its_reason() -> None:
    assert min(len(reason) for reason in declared().values()) > 20


@pytest.mark.parametrize(("package", "wanted"), RUNS, ids=RUN_NAMES)
def test_exactly_what_is_declared_fails(address: str, tmp_path: Path, package: str, wanted: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [*program(package, SCRIPT), "server", "--url", address, "--output-dir", str(tmp_path), *wanted],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    outcome = outcome_of(tmp_path)
    expected = set(declared())
    assert len(outcome.ran) >= 30, ended.stdout + ended.stderr
    assert (outcome.surprising(expected), outcome.missed(expected)) == (set(), set()), ended.stdout[-20_000:]
