"""The policy: presets, rules, the file of the rules, protected and hidden paths, trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from filetools.errors import InvalidArgumentError, StateDamagedError
from filetools.models.records import Actor
from filetools.models.words import Preset
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.policy import Level, PermissionPolicy, PolicyDecision, Rule, SavedPermissions, rules_level
from tests.support.people import ALICE, BOB, EDITOR
from tests.support.step_count import steps_of

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


@pytest.mark.parametrize(
    ("tool", "path", "level"),
    [
        ("", "**", "block"),
        (" ", "**", "block"),
        ("write_file", "", "block"),
        ("write_file", "x" * 257, "auto"),
        ("write_file", "a|b", "auto"),
        ("write_file", "**", "sometimes"),
    ],
)
def test_an_invalid_rule_is_refused(tool: str, path: str, level: Level) -> None:
    with pytest.raises(InvalidArgumentError):
        Rule(tool=tool, path=path, level=level)


@pytest.mark.parametrize(
    ("rule", "tool", "path", "applies"),
    [
        (("write_file", "docs/**", "block"), "write_file", "docs/a.md", True),
        (("write_file", "docs/**", "block"), "write_file", "docs", True),
        (("write_file", "docs/**", "block"), "write_file", "DOCS/A.md", True),
        (("write_file", "docs/**", "block"), "write_file", "doc\u200ds/a.md", True),
        (("write_file", "docs/**", "block"), "write_file", "docsy/a.md", False),
        (("write_file", "docs/**", "block"), "read_file", "docs/a.md", False),
        (("write_file", "docs/**", "auto"), "write_file", "docs/a.md", True),
        (("write_file", "docs/**", "auto"), "write_file", "DOCS/a.md", False),
        (("write_file", "docs/**", "auto"), "write_file", "docs", False),
        (("write_file", "**", "block"), "create_file", "a", True),
        (("create_file", "**", "block"), "write_file", "a", False),
        (("*", "secret", "block"), "exists", "deep/secret/key", True),
        (("*", "**", "prompt"), "list_files", "", True),
        (("*", "docs/**", "prompt"), "list_files", "", False),
        (("delete_*", "a/b/**", "block"), "delete_directory", "a", True),
        (("delete_*", "a/b/**", "block"), "delete_directory", "", True),
        (("delete_*", "a/b/**", "block"), "delete_directory", "ab", False),
        (("*", "a/b/*.env", "block"), "move_file", "A", True),
        (("*", "a/b/**", "block"), "create_directory", "a", False),
        (("*", "*.env", "block"), "write_file", "x/prod.env", True),
    ],
)
def test_a_rule_applies_to_its_tools_and_paths_only(
    rule: tuple[str, str, Level], tool: str, path: str, applies: bool
) -> None:
    assert Rule(tool=rule[0], path=rule[1], level=rule[2]).applies(tool, path) is applies


def test_a_block_wins_over_later_rules() -> None:
    rules = (Rule(tool="*", path="keep", level="block"), Rule(tool="write_file", path="**", level="auto"))
    assert rules_level(rules, "write_file", "keep") == "block"


def test_the_last_rule_that_applies_counts_where_nothing_blocks() -> None:
    rules = (Rule(tool="*", path="**", level="auto"), Rule(tool="*", path="docs/**", level="prompt"))
    assert rules_level(rules, "write_file", "docs/a") == "prompt"
    assert rules_level(tuple(reversed(rules)), "write_file", "docs/a") == "auto"


def test_rules_say_nothing_of_other_calls() -> None:
    assert rules_level((Rule(tool="write_file", path="**", level="block"),), "read_file", "a") is None


def test_the_glob_of_a_rule_is_compiled_once_however_many_there_are() -> None:
    rules = [Rule(tool="*", path=f"folder{number}/*.txt", level="block") for number in range(1100)]
    assert steps_of(lambda: rules_level(rules, "write_file", "a.txt")) < 50 * len(rules)


RULES = (Rule(tool="delete_*", path="docs/**", level="block"), Rule(tool="write_file", path="**", level="prompt"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\xff",
        '{"format": 1, "preset": "\xff"}',
        '{"format": 0}',
        '{"format": 2}',
        '{"format": 1, "preset": "everything"}',
        '{"format": 1, "rules": [{"tool": "", "path": "**", "level": "block"}]}',
        '{"format": 1, "rules": [{"tool": "x", "path": "**", "level": "maybe"}]}',
        '{"format": 1, "rules": [{"tool": "x", "path": "**"}]}',
        '{"format": 1, "rules": [{"tool": "x", "level": "block"}]}',
        '{"format": 1, "rules": [{"tool": "x", "path": "**", "level": "block", "more": ""}]}',
        '{"format": 1, "rules": [{"tool": 1, "path": "**", "level": "block"}]}',
        '{"format": 1, "rules": [["x", "**", "block"]]}',
        '{"format": 1, "rules": {}}',
        '{"format": 1, "rules": null}',
        '{"format": true}',
        '{"format": "1"}',
        '{"format": null}',
        '{"format": 1, "preset": 1}',
        '{"format": 1, "preset": []}',
        '{"format": 1, "surprise": 1}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_refused_and_not_taken_for_an_empty_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "permissions.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(StateDamagedError):
        SavedPermissions.read(path)


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateDamagedError):
        SavedPermissions.read(tmp_path)


def test_a_missing_file_means_no_saved_permissions(tmp_path: Path) -> None:
    assert SavedPermissions.read(tmp_path / "none.json") == SavedPermissions()


def test_the_rules_of_a_file_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    rules = [
        {"tool": "delete_*", "path": "docs/**", "level": "block"},
        {"tool": "write_file", "path": "**", "level": "prompt"},
    ]
    path.write_text(json.dumps({"format": 1, "preset": "guarded", "rules": rules}))
    assert SavedPermissions.read(path) == SavedPermissions(preset="guarded", rules=RULES)
