from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError, StateVersionError, StorageFailedError
from filetools.permissions.rule_file import SavedPermissions
from filetools.permissions.rules import Rule

RULES = (Rule(tool="delete_*", path="docs/**", level="block"), Rule(tool="write_file", level="prompt"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\xff",
        '{"format": 0}',
        '{"format": 1, "preset": "everything"}',
        '{"format": 1, "rules": [{"tool": "", "path": "**", "level": "block"}]}',
        '{"format": 1, "rules": [{"tool": "x", "path": "**", "level": "maybe"}]}',
        '{"format": 1, "rules": [{"tool": "x", "path": "**"}]}',
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


def test_a_file_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    path.write_text('{"format": 2, "news": []}')
    with pytest.raises(StateVersionError):
        SavedPermissions.read(path)


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateDamagedError):
        SavedPermissions.read(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "permissions.json"
    target.mkdir()
    with pytest.raises(StorageFailedError, match=r"permissions\.json"):
        SavedPermissions().write(target)
    assert os.listdir(tmp_path) == ["permissions.json"]


def test_no_file_means_nothing_saved(tmp_path: Path) -> None:
    assert SavedPermissions.read(tmp_path / "none.json") == SavedPermissions()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state" / "permissions.json"
    saved = SavedPermissions(preset="guarded", rules=RULES)
    saved.write(path)
    assert SavedPermissions.read(path) == saved
    assert json.loads(path.read_text())["rules"][0] == {"tool": "delete_*", "path": "docs/**", "level": "block"}


def test_only_the_owner_may_read_it_and_no_temporary_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    SavedPermissions().write(path)
    SavedPermissions(preset="ask").write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["permissions.json"]


def test_a_link_in_its_place_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    path = tmp_path / "permissions.json"
    path.symlink_to(outside)
    SavedPermissions().write(path)
    assert outside.read_text() == "untouched"
    assert not path.is_symlink()
