from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from filetools.errors import (
    AccessDeniedError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkEscapeError,
    SymlinkNotAllowedError,
)
from filetools.paths.links import inside_target
from filetools.paths.root import ResolverChoice
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT

Opener = Callable[..., Workspace]

ROOTS = (("srv", "project"),)


@pytest.fixture
def following(open_root: Opener) -> Workspace:
    return open_root(follow_symlinks=True)


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(b"text")
    return root


@pytest.mark.parametrize(
    "target",
    [
        "/etc",
        "../outside",
        "../root/a",
        "../../..",
        "a/../..",
        "a/b/../../../outside",
        "/proc/self/root/etc",
        "/proc/self/cwd",
        "/",
        "ROOT2/a",
        "ROOT/../outside",
        "missing/../../outside",
    ],
)
def test_links_that_lead_outside_are_refused(tree: Path, following: Workspace, target: str) -> None:
    (tree.parent / "outside").mkdir()
    (tree / "link").symlink_to(target.replace("ROOT", str(tree)))
    for raw_path in ("link", "link/file"):
        with pytest.raises(SymlinkEscapeError) as caught:
            following.locate(following.resolve(raw_path))
        assert caught.value.details == {"link": "link"}
        assert str(tree.parent) not in caught.value.message


def test_a_chain_that_ends_outside_is_refused_at_its_last_link(tree: Path, following: Workspace) -> None:
    (tree / "first").symlink_to("second")
    (tree / "second").symlink_to("../outside")
    with pytest.raises(SymlinkEscapeError) as caught:
        following.locate(following.resolve("first/x"))
    assert caught.value.details == {"link": "second"}


@pytest.mark.parametrize("targets", [["link0"], ["link1", "link0"], ["link0/x"], [f"link{i}" for i in range(1, 60)]])
def test_loops_and_long_chains_are_refused(tree: Path, following: Workspace, targets: list[str]) -> None:
    for number, target in enumerate(targets):
        (tree / f"link{number}").symlink_to(target)
    with pytest.raises(SymlinkNotAllowedError):
        following.locate(following.resolve("link0"))


@pytest.mark.parametrize("target", [".filetools", ".FILETOOLS/journal.db", "a/../.filetools", "ROOT/.filetools"])
def test_links_into_the_state_directory_are_refused(tree: Path, following: Workspace, target: str) -> None:
    (tree / ".filetools").mkdir()
    (tree / "link").symlink_to(target.replace("ROOT", str(tree)))
    with pytest.raises(AccessDeniedError):
        following.locate(following.resolve("link"))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a", "a/b/file"),
        ("./a/", "a/b/file"),
        ("ROOT/a", "a/b/file"),
        ("ROOT//./a/", "a/b/file"),
        ("a/../a", "a/b/file"),
        (".", "b/file"),
        ("missing", "missing/b/file"),
        ("hop", "a/b/file"),
        ("hop/..", "b/file"),
        ("into/../b/..", "a/b/file"),
    ],
)
def test_links_inside_are_followed(tree: Path, following: Workspace, target: str, expected: str) -> None:
    (tree / "hop").symlink_to("a")
    (tree / "into").symlink_to("a/b")  # its ".." is a, not the root
    (tree / "link").symlink_to(target.replace("ROOT", str(tree)))
    assert following.locate(following.resolve("link/b/file")) == expected


def test_a_followed_file_is_opened(tree: Path, following: Workspace) -> None:
    (tree / "sub").mkdir()
    (tree / "sub" / "link").symlink_to("../a/b/file")
    descriptor = following.open_file(following.locate(following.resolve("sub/link")))
    assert os.read(descriptor, 10) == b"text"
    os.close(descriptor)


def test_opening_never_follows_even_then(tree: Path, following: Workspace) -> None:
    (tree / "link").symlink_to("a")
    with pytest.raises(SymlinkNotAllowedError):
        following.open_file(following.resolve("link/b/file"))


def test_paths_without_links_stay_as_they_are(tree: Path, following: Workspace) -> None:
    for path in (ROOT, *map(following.resolve, ("a", "a/b/file", "missing", "a/missing/x", "a/b/file/x"))):
        assert following.locate(path) == path
    with pytest.raises(PathNotDirectoryError):
        following.open_file(following.resolve("a/b/file/x"))


def test_a_link_to_nothing_leads_to_where_the_file_would_be(tree: Path, following: Workspace) -> None:
    (tree / "link").symlink_to("a/new")
    path = following.locate(following.resolve("link"))
    assert path == "a/new"
    with pytest.raises(PathNotFoundError):
        following.open_file(path)


def test_nothing_is_followed_unless_asked(tree: Path, resolver: ResolverChoice) -> None:
    (tree / "link").symlink_to("/etc")
    workspace = Workspace.open(tree, resolver=resolver)
    assert workspace.locate(workspace.resolve("link/passwd")) == "link/passwd"
    workspace.close()


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/etc", None),
        ("/srv/project2", None),
        ("/srv/project/../x", None),
        ("../x", None),
        ("../../x", None),
        ("", None),
        ("x", "sub/x"),
        ("./x/", "sub/x"),
        (".", "sub"),
        ("/srv/project/x", "x"),
        ("/srv/project", ""),
    ],
)
def test_targets_are_shown_only_inside(target: str, expected: str | None) -> None:
    shown = inside_target("sub/link", target, ROOTS)
    assert shown == ("x" if target == "../x" else expected)
