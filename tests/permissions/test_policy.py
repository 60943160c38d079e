from __future__ import annotations

import pytest

from filetools.models.records import Actor
from filetools.models.words import Preset
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.policy import (
    PermissionPolicy,
    PolicyDecision,
    Rule,
)
from tests.support.people import ALICE, BOB, EDITOR

A = WorkspacePath("a.txt")
HOOK = WorkspacePath("sub/.git/hooks/pre-commit")
EXTERNAL = Actor(kind="external", id="external")
SYSTEM = Actor(kind="system", id="filetools")


PRESETS: dict[tuple[Preset, bool, PolicyDecision], list[str]] = {
    ("read_only", True, "block"): ["write_file", "delete_file", "frobnicate", "read_file"],
    ("read_only", False, "prompt"): ["frobnicate"],
    ("read_only", False, "auto"): ["read_file"],
    ("guarded", True, "block"): ["delete_file", "delete_directory", "delete_multiple"],
    ("guarded", True, "prompt"): ["write_file"],
    ("guarded", False, "auto"): ["list_files"],
    ("ask", True, "prompt"): ["delete_file", "frobnicate", "read_file"],
    ("ask", False, "prompt"): ["frobnicate"],
    ("ask", False, "auto"): ["grep_files", "file_info", "exists"],
    ("allow", True, "auto"): ["frobnicate", "delete_directory"],
}


@pytest.mark.parametrize(("preset", "change", "reason"), PRESETS)
def test_presets_bind_agents(preset: Preset, change: bool, reason: PolicyDecision) -> None:
    for tool in PRESETS[preset, change, reason]:
        assert PermissionPolicy(preset).check(tool, A, actor=ALICE, change=change) == reason, tool


@pytest.mark.parametrize("actor", [ALICE, EDITOR, EXTERNAL, SYSTEM])
@pytest.mark.parametrize("preset", ["allow", "ask", "guarded"])
def test_a_protected_path_is_asked_about_in_every_preset_for_everybody(preset: Preset, actor: Actor) -> None:
    decision = PermissionPolicy(preset).check("write_file", HOOK, actor=actor, change=True)
    assert decision == "protected"


def test_a_block_beats_protection() -> None:
    assert PermissionPolicy("read_only").check("write_file", HOOK, actor=ALICE, change=True) == "block"


@pytest.mark.parametrize("path", [".GIT", ".git/config", ".g\u200cit/config", ".mcp.json", ".Claude/settings.json"])
def test_protection_meets_every_spelling(path: str) -> None:
    policy = PermissionPolicy("allow")
    assert policy.check("write_file", WorkspacePath(path), actor=ALICE, change=True) == "protected"


def test_a_foreign_program_is_bound_like_an_agent() -> None:
    assert PermissionPolicy("read_only").check("write_file", A, actor=EXTERNAL, change=True) == "block"


@pytest.mark.parametrize("actor", [EDITOR, SYSTEM])
def test_presets_and_rules_do_not_bind_people(actor: Actor) -> None:
    policy = PermissionPolicy("read_only", [Rule(tool="*", path="**", level="block")])
    assert policy.check("delete_file", A, actor=actor, change=True) == "auto"


def test_a_rule_cannot_loosen_the_block_of_a_preset() -> None:
    policy = PermissionPolicy("guarded", [Rule(tool="delete_file", path="tmp/**", level="auto")])
    path = WorkspacePath("tmp/x")
    assert policy.check("delete_file", path, actor=ALICE, change=True) == "block"


def test_a_rule_refines_a_preset_in_both_directions() -> None:
    asking = PermissionPolicy("ask", [Rule(tool="write_file", path="docs/**", level="auto")])
    assert asking.check("write_file", WorkspacePath("docs/x"), actor=ALICE, change=True) == "auto"
    allowing = PermissionPolicy("allow", [Rule(tool="read_file", path="*.txt", level="block")])
    assert allowing.check("read_file", WorkspacePath("k/x.txt"), actor=ALICE, change=False) == "block"


def test_new_rules_and_presets_count_at_once() -> None:
    policy = PermissionPolicy("allow")
    assert policy.check("write_file", A, actor=ALICE, change=True) == "auto"
    policy.use("allow", [Rule(tool="write_file", path="**", level="block")])
    assert policy.check("write_file", A, actor=ALICE, change=True) == "block"
    policy.use("ask", [])
    assert policy.check("write_file", A, actor=ALICE, change=True) == "prompt"


def test_trust_for_a_run_is_of_one_tool_and_one_run() -> None:
    policy = PermissionPolicy("ask")
    policy.trust.add(ALICE, "write_file")

    def reason(tool: str, actor: Actor) -> str:
        return policy.check(tool, A, actor=actor, change=True)

    later_run = Actor(kind="agent", id="alice", session="s2")
    same_run = Actor(kind="agent", id="alice", session="s1", call="c9")
    assert [reason("append_file", ALICE), reason("write_file", BOB), reason("write_file", later_run)] == ["prompt"] * 3
    assert reason("write_file", same_run) == "session"


def test_trust_in_a_tool_does_not_reach_protected_paths() -> None:
    policy = PermissionPolicy("ask")
    policy.trust.add(ALICE, "write_file")
    assert policy.check("write_file", HOOK, actor=ALICE, change=True) == "protected"


def test_trust_in_a_protected_path_is_trust_in_that_path() -> None:
    policy = PermissionPolicy("allow")
    policy.trust.add(ALICE, "write_file", HOOK)
    assert policy.check("write_file", HOOK, actor=ALICE, change=True) == "session"
    other = WorkspacePath(".mcp.json")
    assert policy.check("write_file", other, actor=ALICE, change=True) == "protected"


def test_trust_lifts_no_block() -> None:
    policy = PermissionPolicy("guarded")
    policy.trust.add(ALICE, "delete_file")
    assert policy.check("delete_file", A, actor=ALICE, change=True) == "block"
