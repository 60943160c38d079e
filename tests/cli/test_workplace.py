from __future__ import annotations

from pathlib import Path

import pytest

from filetools.cli.workplace import Workplace, find_workplace
from filetools.errors import AbsolutePathError, PathTraversalError


@pytest.fixture
def inside(tmp_path: Path) -> Workplace:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    return Workplace(root=tmp_path / "root", folder=tmp_path / "root" / "sub")


@pytest.mark.parametrize("raw_path", ["../../secret", "../..", "../../rootless/a"])
def test_a_path_out_of_the_root_is_refused(inside: Workplace, raw_path: str) -> None:
    with pytest.raises(PathTraversalError):
        inside.path(raw_path)


def test_an_absolute_path_outside_the_root_is_refused(inside: Workplace) -> None:
    with pytest.raises(AbsolutePathError):
        inside.path("/etc/passwd")


@pytest.mark.parametrize(
    ("raw_path", "expected"),
    [("a.txt", "sub/a.txt"), ("../a.txt", "a.txt"), (".", "sub"), ("..", ""), ("", "sub"), ("x/../y/", "sub/y")],
)
def test_paths_are_relative_to_the_working_folder(inside: Workplace, raw_path: str, expected: str) -> None:
    assert inside.path(raw_path) == expected


def test_an_absolute_path_inside_the_root_is_made_relative(inside: Workplace) -> None:
    assert inside.path(str(inside.root / "x" / "y.txt")) == "x/y.txt"


def test_outside_the_root_paths_are_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    assert Workplace(root=tmp_path / "root", folder=tmp_path).path("a.txt") == "a.txt"


def test_a_linked_root_is_the_folder_it_names(tmp_path: Path) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("root")
    linked = Workplace(root=tmp_path / "link", folder=tmp_path / "root" / "sub")
    assert linked.path("a.txt") == "sub/a.txt"
    assert linked.path(str(tmp_path / "link" / "b.txt")) == "b.txt"


def test_a_link_inside_is_left_to_the_rules_of_the_workspace(inside: Workplace) -> None:
    (inside.root / "sub" / "link").symlink_to("/etc")
    assert inside.path("link/passwd") == "sub/link/passwd"


def test_the_root_is_the_nearest_parent_with_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".filetools").mkdir()
    (tmp_path / "inner" / ".filetools").mkdir(parents=True)
    (tmp_path / "inner" / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "inner" / "deep")
    assert find_workplace(None).root == tmp_path / "inner"
    assert find_workplace(tmp_path).root == tmp_path


def test_without_a_state_the_root_is_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".filetools").write_text("a file is no state")
    monkeypatch.chdir(tmp_path)
    assert find_workplace(None).root == tmp_path
