from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.errors import AbortedError, DirectoryNotFoundError, PathNotDirectoryError
from filetools.paths.patterns import compile_patterns
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.walk import walk_tree
from tests.support.direct_store import CountedStore, DirectStore, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectStore]:
    store = open_store(tmp_path)
    for folder in ("a/b", "c", ".git/objects", "d/node_modules/x"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("a/1", "a/b/2", "c/3.tmp", ".git/objects/4", "5"):
        (tmp_path / file).touch()
    (tmp_path / "link").symlink_to("a")
    yield store
    store.close()
    store.workspace.close()


@pytest.mark.parametrize(("path", "error"), [("missing", DirectoryNotFoundError), ("5", PathNotDirectoryError)])
def test_walk_from_what_is_no_folder_is_refused(store: DirectStore, path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        next(walk_tree(store, WorkspacePath(path)))


def test_walk_stops_when_told(store: DirectStore) -> None:
    looks = iter([False, True])
    with pytest.raises(AbortedError):
        list(walk_tree(store, ROOT, abort=lambda: next(looks)))


def test_walk_yields_everything_once_and_folders_first(store: DirectStore) -> None:
    paths = [path for path, _ in walk_tree(store, ROOT)]
    assert sorted(paths) == [
        *(".git", ".git/objects", ".git/objects/4", "5", "a", "a/1", "a/b", "a/b/2", "c", "c/3.tmp"),
        *("d", "d/node_modules", "d/node_modules/x", "link"),
    ]
    assert all(path.parent.is_root or paths.index(path.parent) < paths.index(path) for path in paths)


def test_walk_gives_types_and_does_not_follow_links(store: DirectStore) -> None:
    types = {path: entry.type for path, entry in walk_tree(store, ROOT)}
    assert [types[WorkspacePath(path)] for path in ("a", "5", "link")] == ["directory", "file", "symlink"]


def test_walk_leaves_out_excluded_folders_unread(store: DirectStore) -> None:
    counted = CountedStore(store)
    rules = compile_patterns(["*.tmp", "a/b"], defaults=[".git", "node_modules"])
    paths = [str(path) for path, _ in walk_tree(counted, ROOT, rules=rules)]
    assert sorted(paths) == ["5", "a", "a/1", "c", "d", "link"]
    assert sorted(counted.scanned) == ["", "a", "c", "d"]


def test_walk_survives_folders_that_vanish(store: DirectStore, tmp_path: Path) -> None:
    paths = []
    for path, _ in walk_tree(store, ROOT):
        paths.append(str(path))
        if path == "d":
            (tmp_path / "d/node_modules/x").rmdir()
            (tmp_path / "d/node_modules").rmdir()
            (tmp_path / "d").rmdir()
    assert "a/b/2" in paths
    assert "d/node_modules" not in paths


def test_walk_is_lazy(store: DirectStore) -> None:
    counted = CountedStore(store)
    next(walk_tree(counted, ROOT))
    assert counted.scanned == [""]
