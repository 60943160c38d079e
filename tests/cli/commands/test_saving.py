"""Writing to a file that the user names: whole or not at all, and nothing else in its place."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from filetools.cli.commands.history import save
from tests.support.unprivileged import as_nobody


def put(place: Path | str, content: bytes = b"new") -> None:
    save(content, str(place), actor=None)


def test_what_fails_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "said.json"
    file.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, hard))
    try:
        with pytest.raises(OSError, match="File too large") as failure:
            put(file, b"new text")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert failure.value.filename == str(file)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("said.json", b"old")]


def test_what_is_no_file_keeps_its_place(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(OSError, match="It is not a file"):
            put(tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "pipe"]


def test_nobody_writes_where_the_system_does_not_let_them(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "protected").write_bytes(b"old")

    def act() -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "kept").write_bytes(b"old")
        (tmp_path / "mine" / "kept").chmod(0o444)
        for place in ("closed/said.json", "closed/new/said.json", "protected", "mine/kept"):
            with pytest.raises(PermissionError) as failure:
                put(tmp_path / place)
            assert failure.value.filename == str(tmp_path / place)

    put(tmp_path / "first")  # others may not be able to read what is imported
    as_nobody(tmp_path, act)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["closed", "first", "kept", "mine", "protected"]


def test_missing_folders_are_made_and_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        put(tmp_path / "a" / "b" / "said.json")
    finally:
        os.umask(umask)
    file = tmp_path / "a" / "b" / "said.json"
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)
    assert [*file.parent.iterdir()] == [file]


def test_a_file_that_is_replaced_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    file, link = tmp_path / "said.json", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o604)
    link.symlink_to("said.json")
    put(link)
    assert (link.is_symlink(), file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (True, b"new", 0o604)
