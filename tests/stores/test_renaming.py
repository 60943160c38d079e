"""Folders that the file system does not rename: carried over entry by entry, also in several attempts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.stores.renaming import Spot, rename_by_entries


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def _make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def _spots(top: int) -> tuple[Spot, Spot, Spot]:
    return (top, "from"), (top, ".ft-0123456789abcdef"), (top, "to")


def _files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_folder_arrives_with_all_in_it_and_its_mode_and_time(tmp_path: Path, top: int) -> None:
    _make(tmp_path, "from/a", "from/b/c")
    (tmp_path / "from" / "link").symlink_to("nowhere")
    (tmp_path / "from").chmod(0o750)
    os.utime(tmp_path / "from", ns=(10**18, 10**18))
    rename_by_entries(*_spots(top))
    assert os.listdir(tmp_path) == ["to"]
    assert _files(tmp_path) == {"to/a": "from/a", "to/b/c": "from/b/c"}
    assert os.readlink(tmp_path / "to" / "link") == "nowhere"
    found = (tmp_path / "to").stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o750, 10**18)


@pytest.mark.parametrize("source_is_gone", [False, True])
def test_what_was_interrupted_is_finished_by_the_same_call(tmp_path: Path, top: int, source_is_gone: bool) -> None:
    _make(tmp_path, ".ft-0123456789abcdef/a", ".ft-0123456789abcdef/b/c")
    if not source_is_gone:
        _make(tmp_path, "from/b/d", "from/e")
    rename_by_entries(*_spots(top))
    assert os.listdir(tmp_path) == ["to"]
    assert list(_files(tmp_path)) == ["to/a", "to/b/c", *([] if source_is_gone else ["to/b/d", "to/e"])]


def test_a_file_that_was_made_anew_meanwhile_replaces_nothing(tmp_path: Path, top: int) -> None:
    _make(tmp_path, ".ft-0123456789abcdef/a", "from/a")
    rename_by_entries(*_spots(top))
    assert _files(tmp_path) == {"to/a": ".ft-0123456789abcdef/a", "to/a~": "from/a"}


def test_where_the_name_was_taken_meanwhile_the_source_is_as_it_was(tmp_path: Path, top: int) -> None:
    _make(tmp_path, "from/a", "from/b/c", "to/x")
    before = _files(tmp_path)
    with pytest.raises(FileExistsError):
        rename_by_entries(*_spots(top))
    assert _files(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["from", "to"]


def test_a_folder_that_is_nowhere_is_said_to_be(tmp_path: Path, top: int) -> None:
    with pytest.raises(FileNotFoundError):
        rename_by_entries(*_spots(top))
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_carried_over_stays(tmp_path: Path, top: int) -> None:
    _make(tmp_path, "from/d/x")
    (tmp_path / ".ft-0123456789abcdef").write_text("in the way")
    with pytest.raises(OSError, match="Not a directory"):
        rename_by_entries(*_spots(top))
    assert _files(tmp_path)["from/d/x"]
