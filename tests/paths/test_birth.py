from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.paths.workspace import Workspace
from tests.support.inside import refuse_library_call

MINUTE_NS = 60 * 1_000_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to("a.txt")
    return Workspace.open(tmp_path)


def test_nobody_knows_when_what_is_not_there_was_made(workspace: Workspace) -> None:
    assert workspace.birth_ns(workspace.resolve("no.txt")) is None
    assert workspace.birth_ns(workspace.resolve("a.txt/x")) is None
    workspace.close()


def test_the_birth_of_a_file_is_no_later_than_its_last_change(workspace: Workspace, tmp_path: Path) -> None:
    made = os.stat(tmp_path / "a.txt").st_ctime_ns
    for name in ("a.txt", "link", "."):
        told = workspace.birth_ns(workspace.resolve(name, allow_root=True))
        assert told is None or made - MINUTE_NS < told < made + MINUTE_NS
    os.utime(tmp_path / "a.txt", (1, 1))
    told = workspace.birth_ns(workspace.resolve("a.txt"))
    assert told is None or made - MINUTE_NS < told <= made
    workspace.close()


def test_where_the_system_does_not_tell_nothing_is_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_library_call(monkeypatch, "statx")
    told = getattr(os.stat("."), "st_birthtime", None)
    assert (workspace.birth_ns(workspace.resolve("a.txt")) is None) == (told is None)
    workspace.close()
