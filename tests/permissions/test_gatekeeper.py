from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from filetools.errors import (
    ApprovalRequiredError,
    PathNotFoundError,
    StateDamagedError,
    ToolBlockedError,
)
from filetools.journal.journal import Journal
from filetools.journal.table import Table
from filetools.models.words import Preset
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.approvals import Approvals, CallRun
from filetools.permissions.gatekeeper import Gatekeeper
from filetools.permissions.policy import PermissionPolicy, Rule
from filetools.permissions.requests import Proposal
from tests.support.people import ALICE, Notices, Person, proposal, run

T = TypeVar("T")

A, B = WorkspacePath("a.txt"), WorkspacePath("b.txt")
MCP = WorkspacePath(".mcp.json")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Table]:
    (tmp_path / "state").mkdir()
    with closing(Journal(tmp_path / "state", durability="relaxed")) as journal:
        yield journal.approvals


class Gate:
    """A gatekeeper with everything that a test inspects."""

    def __init__(self, book: Table, preset: Preset, *rules: Rule, path: Path | None = None, run: CallRun = run) -> None:
        self.policy = PermissionPolicy(preset, rules)
        self.notices = Notices()
        self.described = 0
        approvals = Approvals(self.policy.trust, book, run, publish=self.notices)
        nowhere = Path("/nowhere/permissions.json")
        self.leader = Gatekeeper(self.policy, approvals, rule_file=path or nowhere, run=run)

    async def describe(self) -> Proposal:
        self.described += 1
        return proposal()

    async def authorise(self, tool: str, *paths: WorkspacePath, change: bool = True) -> None:
        await self.leader.authorise(tool, paths, actor=ALICE, change=change, describe=self.describe)


@pytest.fixture
async def asking(book: Table) -> AsyncIterator[Gate]:
    gate = Gate(book, "ask")
    yield gate
    await gate.leader.approvals.aclose()


async def test_a_block_on_any_path_refuses_before_anybody_is_asked(book: Table) -> None:
    gate = Gate(book, "ask", Rule(tool="move_file", path="b.txt", level="block"))
    person = Person("allow")
    gate.leader.approvals.audience.listen(person)
    with pytest.raises(ToolBlockedError) as caught:
        await gate.authorise("move_file", A, B)
    assert caught.value.path == "b.txt"
    assert (person.asked, gate.described) == ([], 0)


async def test_a_call_without_a_path_is_decided_at_the_root(asking: Gate) -> None:
    with pytest.raises(ApprovalRequiredError):
        await asking.authorise("frobnicate")


async def test_a_call_that_cannot_be_described_fails_as_it_would_have(asking: Gate) -> None:
    async def describe() -> Proposal:
        raise PathNotFoundError("a.txt")

    with pytest.raises(PathNotFoundError):
        await asking.leader.authorise("delete_file", [A], actor=ALICE, change=True, describe=describe)
    assert asking.leader.approvals.open_requests() == []


async def test_one_question_covers_all_paths_of_a_call_and_names_the_protected_one(asking: Gate) -> None:
    person = Person("allow")
    asking.leader.approvals.audience.listen(person)
    await asking.authorise("move_file", A, MCP)
    [request] = person.asked
    assert (request.path, request.paths, request.reason, request.risk) == (MCP, (A, MCP), "protected", "high")


async def test_the_saved_permissions_are_applied_except_a_preset_given_at_opening(book: Table, tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"preset": "guarded", "rules": [{"tool": "delete_*", "path": "docs/**", "level": "block"}]}')
    gate, strict = Gate(book, "allow", path=path), Gate(book, "read_only", path=path)
    await gate.leader.load(preset_given=False)
    await strict.leader.load(preset_given=True)
    rules = (Rule(tool="delete_*", path="docs/**", level="block"),)
    assert (gate.policy.rules, gate.policy.preset) == (rules, "guarded")
    assert (strict.policy.rules, strict.policy.preset) == (rules, "read_only")


async def test_a_damaged_file_stops_the_opening(book: Table, tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text("{")
    with pytest.raises(StateDamagedError):
        await Gate(book, "allow", path=path).leader.load(preset_given=False)
