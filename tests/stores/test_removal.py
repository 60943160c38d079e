"""Removing whole trees, however deep or closed."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from filetools.paths.workspace_path import WorkspacePath
from tests.support.store_worlds import FOLDER, LocalWorld
from tests.support.unprivileged import as_nobody


def make_deep(root: Path, depth: int) -> None:
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def test_a_tree_deeper_than_descriptors_and_recursion_allow(native: LocalWorld) -> None:
    make_deep(native.root / FOLDER, 1100)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 16, hard))
    try:
        native.store.remove(FOLDER).discard()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (native.names(), native.hidden()) == ({"file.txt"}, set())


def test_a_tree_of_every_type_goes_without_touching_what_links_name(native: LocalWorld) -> None:
    keep = native.root.parent / "keep"
    keep.mkdir()
    (keep / "file").touch()
    folder = native.root / FOLDER
    (folder / "link").symlink_to(keep)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    (folder / "empty").mkdir()
    native.store.remove(FOLDER).discard()
    assert (native.hidden(), os.listdir(keep)) == (set(), ["file"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_folders_without_write_permission_go_too(tmp_path: Path) -> None:
    def remove_closed_tree() -> None:
        world = LocalWorld(tmp_path / "mine")
        world.save("tree/closed/inner/file", b"x")
        for closed in ("tree/closed/inner", "tree/closed"):
            (world.root / closed).chmod(0o555)
        world.store.remove(WorkspacePath("tree")).discard()
        assert (world.names(), world.hidden()) == (set(), set())
        world.close()

    as_nobody(tmp_path, remove_closed_tree)
