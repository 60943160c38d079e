"""The beginning of a README: which file it is, and where it is cut."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.errors import InvalidArgumentError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.project.folder import ProjectFolder, opened_folder
from filetools.project.readme import readme
from filetools.stores.folder import FolderStore
from filetools.stores.store import FileStat


class CountingStore(FolderStore):
    """Reads a folder, and counts the bytes."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.bytes_read: list[int] = []

    def read_start(self, path: WorkspacePath, count: int) -> tuple[bytes, FileStat]:
        raw, found = super().read_start(path, count)
        if count:
            self.bytes_read.append(len(raw))
        return raw, found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / "x"
    place.mkdir()
    return place


@pytest.fixture
def folder(place: Path) -> Iterator[ProjectFolder]:
    with opened_folder(str(place)) as folder:
        yield folder


@pytest.fixture
def counted(place: Path) -> Iterator[tuple[ProjectFolder, CountingStore]]:
    workspace = Workspace.open(str(place))
    store = CountingStore(workspace)
    yield ProjectFolder(path=str(place), reads=store), store
    workspace.close()


@pytest.mark.parametrize("most", [0, -1, 20_001])
def test_a_limit_out_of_range_is_refused(folder: ProjectFolder, most: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"max_chars must be 1 to 20000, not {most}"):
        readme(folder, max_chars=most)


def test_links_that_leave_the_folder_are_no_readme(place: Path, folder: ProjectFolder) -> None:
    (place.parent / "secret.md").write_text("secret")
    (place / "sub").symlink_to(place.parent)
    (place / ".filetools").mkdir()
    (place / ".filetools" / "token").write_text("secret")
    targets = {
        "README.md": "../secret.md",
        "readme.md": str(place.parent / "secret.md"),
        "Readme.md": "sub/secret.md",
        "README.markdown": "README.markdown",
        "readme.markdown": "gone.md",
        "README.rst": ".filetools/token",
        "readme.rst": ".",
        "readme": os.fsdecode(b"\xff.md"),
    }
    for name, target in targets.items():
        (place / name).symlink_to(target)
    os.mkfifo(place / "README.txt")
    assert readme(folder) == {"content": None, "truncated": False, "path": "~/x/README.md"}


def test_links_that_stay_in_the_folder_are_followed(place: Path, folder: ProjectFolder) -> None:
    (place / "README").symlink_to("other.md")
    (place / "other.md").symlink_to("plain.txt")
    (place / "plain.txt").write_text("inside")
    assert readme(folder) == {"content": "inside", "truncated": False, "path": "~/x/plain.txt"}


def test_the_first_name_counts_whatever_its_case_and_folders_do_not(place: Path, folder: ProjectFolder) -> None:
    (place / "README.MD").mkdir()
    (place / "Docs").mkdir()
    names = ["Docs/readme.md", "ReadMe.TXT", "README", "readme.RST", "Readme.markdown", "readme.md", "README.md"]
    for name in names:
        (place / name).write_text(name)
        assert readme(folder) == {"content": name, "truncated": False, "path": f"~/x/{name}"}


@pytest.mark.parametrize(
    ("text", "most", "content"),
    [
        ("1234567\n901", 10, "1234567\n"),
        ("123456\n8901", 10, "123456\n890"),
        ("\u20ac" * 11, 10, "\u20ac" * 10),
        ("12345678e\u0301\u0301x", 10, "12345678"),
    ],
)
def test_a_long_text_is_cut_at_a_line_end_near_the_limit_else_at_a_whole_character(
    place: Path, folder: ProjectFolder, text: str, most: int, content: str
) -> None:
    (place / "README").write_bytes(text.encode())
    is_cut = len(text) > most
    expected = {"content": content, "truncated": is_cut, "path": "~/x/README"}
    assert readme(folder, max_chars=most) == expected | ({"total_chars": len(text)} if is_cut else {})


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9", {"content": "caf\u00e9"}),
        (b"\xef\xbb\xbf", {"content": ""}),
        (b"caf\xe9", {"content": "caf\u00e9", "encoding": "latin-1"}),
        (b"\x89PNG\r\n\x1a\n\0\xff", {"content": "\x89PNG\r\n\x1a\n\0\u00ff", "encoding": "latin-1"}),
        ("\ufeffcaf\u00e9".encode("utf-16-le"), {"content": "caf\u00e9", "encoding": "utf-16-le"}),
    ],
)
def test_the_encoding_is_told_where_it_is_not_utf8(
    place: Path, folder: ProjectFolder, raw: bytes, expected: dict[str, str]
) -> None:
    (place / "README").write_bytes(raw)
    assert readme(folder) == {**expected, "truncated": False, "path": "~/x/README"}


@pytest.mark.parametrize("character", ["\u20ac", "\U0001f600", "e"])
def test_of_a_large_file_only_the_beginning_is_read(
    place: Path, counted: tuple[ProjectFolder, CountingStore], character: str
) -> None:
    folder, store = counted
    with (place / "README.md").open("w", encoding="utf-8") as file:
        file.write(character * 1_000_000)
        file.truncate(10 * 1024 * 1024)
    answer = readme(folder)
    assert answer == {"content": character * 2000, "truncated": True, "path": "~/x/README.md"}
    assert store.bytes_read == [4 * 2002]
