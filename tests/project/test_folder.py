"""Which folder is meant, and what of it can be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filetools.errors import (
    AccessDeniedError,
    DirectoryNotFoundError,
    InvalidArgumentError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.project.folder import below, folder_path, opened_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "me"
    (place / "code" / "sub").mkdir(parents=True)
    (tmp_path / "me2").mkdir()
    monkeypatch.setenv("HOME", str(place))
    return place


def test_a_folder_outside_the_allowed_ones_is_refused_also_through_a_link(home: Path) -> None:
    allowed = [str(home / "code")]
    (home / "code" / "out").symlink_to(home.parent / "me2")
    for raw in ("..", "~", "/", str(home / "code2"), "out", "~/code/../../me2"):
        with pytest.raises(AccessDeniedError, match="outside the folders that can be looked at"):
            folder_path(raw, base=allowed[0], allowed=allowed)


@pytest.mark.parametrize("raw", [".filetools", "sub/.filetools", "FILETOOLS~1/../.FileTools/blobs"])
def test_the_state_of_filetools_is_no_folder_to_look_into(home: Path, raw: str) -> None:
    (home / "code" / ".filetools" / "blobs").mkdir(parents=True)
    with pytest.raises(AccessDeniedError, match="it belongs to filetools"):
        folder_path(raw, base=str(home / "code"), allowed=None)


def test_what_is_missing_or_a_file_is_told_with_the_home_folder_shortened(home: Path) -> None:
    (home / "code" / "file").write_text("")
    with pytest.raises(DirectoryNotFoundError) as missing:
        folder_path("gone", base=str(home / "code"), allowed=None)
    assert missing.value.message == "Directory not found: ~/code/gone"
    with pytest.raises(PathNotDirectoryError) as file:
        folder_path("~/code/file", base="/", allowed=None)
    assert file.value.message == "Not a directory: ~/code/file"
    with pytest.raises(InvalidArgumentError):
        folder_path("a\0b", base="/", allowed=None)


def test_only_the_home_folder_itself_expands(home: Path) -> None:
    base = str(home / "code")
    assert folder_path("~/code/sub", base="/", allowed=[base]) == f"{base}/sub"
    with pytest.raises(DirectoryNotFoundError, match=r"Directory not found: ~/code/~other"):
        folder_path("~other", base=base, allowed=None)
    assert folder_path("", base=base, allowed=[base]) == base
    assert folder_path("sub/", base=base, allowed=[base]) == f"{base}/sub"


def test_a_folder_is_read_without_leaving_anything_and_never_through_a_link(home: Path) -> None:
    place = home / "code"
    (place / "a.txt").write_text("0123456789")
    (place / "secret").write_text("s")
    (place / "link").symlink_to("a.txt")
    before = sorted(os.listdir(place))
    with opened_folder(str(place), is_withheld=lambda path: path == "secret") as folder:
        reads = folder.reads
        assert reads.read_start(reads.resolve("a.txt"), 4)[0] == b"0123"
        assert reads.read_start(reads.resolve("a.txt"), 400)[0] == b"0123456789"
        assert reads.read(reads.resolve("a.txt"))[0] == b"0123456789"
        assert {entry.name for entry in reads.scan(reads.resolve(""))} == {*before}
        for refused in (reads.read, lambda path: reads.read_start(path, 1)):
            with pytest.raises(AccessDeniedError, match="a rule keeps you from reading it"):
                refused(reads.resolve("secret"))
            with pytest.raises(SymlinkNotAllowedError):
                refused(reads.resolve("link"))
        assert folder.shown("a.txt") == "~/code/a.txt"
        assert folder.shown() == "~/code"
    assert sorted(os.listdir(place)) == before


def test_what_is_not_there_yet_means_the_nearest_folder_that_holds_it(home: Path) -> None:
    base = str(home / "code")
    (home / "code" / "file").write_text("")
    for raw in ("sub/new/deep.py", "sub", "sub/x"):
        assert folder_path(raw, base=base, allowed=[base], is_nearest=True) == f"{base}/sub"
    assert folder_path("file", base=base, allowed=[base], is_nearest=True) == base


def test_of_an_allowed_folder_that_is_gone_nothing_above_is_meant(home: Path) -> None:
    gone = str(home / "gone")
    for raw in (gone, f"{gone}/deep/new.py"):
        with pytest.raises(DirectoryNotFoundError):
            folder_path(raw, base=gone, allowed=[gone], is_nearest=True)
    (home / "gone").write_text("")
    with pytest.raises(PathNotDirectoryError):
        folder_path(gone, base=gone, allowed=[gone], is_nearest=True)
    assert folder_path(f"{gone}/new.py", base=gone, allowed=[gone, str(home)], is_nearest=True) == str(home)


def test_a_path_is_told_relative_to_the_folder_that_it_is_in() -> None:
    assert below("/a/b", "/a") == "b"
    assert below("/a", "/a") == ""
    assert below("/ab", "/a") is None
    assert below("/a/b", "/") == "a/b"
