from __future__ import annotations

import pytest

from filetools.errors import InvalidPathError
from filetools.paths.workspace_path import ROOT, WorkspacePath


@pytest.mark.parametrize("text", ["..", "a/..", "../a", ".", "a/./b", "a//b", "/a", "a/", "/", "a\0b"])
def test_constructor_refuses_what_is_not_normalised(text: str) -> None:
    with pytest.raises(InvalidPathError):
        WorkspacePath(text)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0"])
def test_child_refuses_what_is_not_one_name(name: str) -> None:
    with pytest.raises(InvalidPathError):
        WorkspacePath("folder").child(name)


def test_the_root_has_no_name_and_is_its_own_parent() -> None:
    assert ROOT.is_root
    assert (ROOT.name, ROOT.parent, ROOT.parts) == ("", ROOT, ())
    assert ROOT.child("a") == "a"


def test_parts_of_a_path() -> None:
    path = WorkspacePath("a/b/c.txt")
    assert (path.name, path.parent, path.parts, path.is_root) == ("c.txt", "a/b", ("a", "b", "c.txt"), False)
    assert path.parent.parent.parent == ROOT
    assert isinstance(path.parent, WorkspacePath)
    assert isinstance(path.parent.child("d"), WorkspacePath)


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("a/b", "a", True),
        ("a/b/c", "a", True),
        ("a", "", True),
        ("a", "a", False),
        ("ab/c", "a", False),
        ("a", "a/b", False),
        ("", "", False),
        ("", "a", False),
    ],
)
def test_is_below_compares_whole_segments(path: str, folder: str, expected: bool) -> None:
    assert WorkspacePath(path).is_below(WorkspacePath(folder)) is expected
