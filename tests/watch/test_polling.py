"""Comparing two looks at a tree."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from filetools.watch.exclusion import with_own_names
from filetools.watch.hints import Hint, HintBuffer
from filetools.watch.polling import Snapshot, compare, take_snapshot
from tests.support.watching import excludes_nothing


def look(root: Path) -> Snapshot:
    return take_snapshot(str(root), with_own_names(excludes_nothing), threading.Event())


def differences(before: Snapshot, after: Snapshot) -> list[Hint]:
    hints = HintBuffer()
    compare(before, after, hints)
    return sorted(hints.take(1000), key=lambda hint: hint.path)


def test_every_kind_of_change_is_seen(tmp_path: Path) -> None:
    for name in ("moved", "written", "deleted", "same size"):
        (tmp_path / name).write_bytes(b"12")
    os.utime(tmp_path / "same size", ns=(1, 1))
    before = look(tmp_path)
    (tmp_path / "new").write_bytes(b"")
    (tmp_path / "moved").rename(tmp_path / "to")
    (tmp_path / "written").write_bytes(b"123")
    (tmp_path / "same size").write_bytes(b"21")
    os.utime(tmp_path / "same size", ns=(1, 1))
    (tmp_path / "deleted").rename(tmp_path.parent / "kept elsewhere")  # a free inode might be given to "new"
    assert differences(before, look(tmp_path)) == [
        Hint("deleted", "deleted"),
        Hint("changed", "new"),
        Hint("changed", "same size"),
        Hint("moved", "to", "moved"),
        Hint("changed", "written"),
    ]


def test_every_name_of_a_deleted_inode_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    os.link(tmp_path / "a", tmp_path / "b")
    before = look(tmp_path)
    (tmp_path / "a").unlink()
    (tmp_path / "b").unlink()
    assert differences(before, look(tmp_path)) == [Hint("deleted", "a"), Hint("deleted", "b")]


def test_links_to_directories_and_own_names_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_bytes(b"")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / ".filetools").mkdir()
    assert sorted(look(tmp_path)) == ["d", "d/a", "link"]
