from __future__ import annotations

import json
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError
from filetools.permissions.policy import Rule, SavedPermissions

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
