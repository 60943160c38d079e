"""Paths that are almost certainly mistakes: refused if they would create a junk folder, with a suggestion."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET
from tests.support.opened import refused

Make = Callable[[FileToolsFacade, str], Awaitable[object]]
MAKERS: dict[str, Make] = {
    "write_file": lambda files, path: files.write_file(path, "x"),
    "create_file": lambda files, path: files.create_file(path, "x"),
    "append_file": lambda files, path: files.append_file(path, "x"),
    "create_directory": lambda files, path: files.create_directory(path),
    "copy_file": lambda files, path: files.copy_file("src/app.py", path),
    "move_file": lambda files, path: files.move_file("src/app.py", path),
    "write_multiple": lambda files, path: files.write_multiple([{"path": path, "content": "x"}]),
    "apply_patch": lambda files, path: files.apply_patch(f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"),
}
FOLDER = next(name for name in ("etc", "usr", "Users", "Windows") if os.path.lexists(f"/{name}"))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("~/x/y.py", "x/y.py"),
        ("~ann/src/y.py", "src/y.py"),
        ("file:///home/ann/src/y.py", "src/y.py"),
        ("`src/y.py`", "src/y.py"),
        ('"y.py"', "y.py"),
        (f"/{FOLDER}/y.py", f"{FOLDER}/y.py"),
        (f"/{FOLDER}/project/src/y.py", "src/y.py"),
    ],
)
async def test_a_path_that_would_create_a_junk_folder_is_refused(
    tmp_path: Path, make: Make, raw: str, meant: str
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text("1")
    async with filetools.open(tmp_path, settings=QUIET) as files:
        with pytest.raises(FileToolsError) as caught:
            await make(files, raw)
        assert f"Did you mean {meant!r}?" in (caught.value.suggested_action or "")
        assert caught.value.details.get("cause", caught.value.code) in ("INVALID_PATH", "ABSOLUTE_PATH")
        assert sorted(path.name for path in tmp_path.rglob("*") if ".filetools" not in path.parts) == ["app.py", "src"]


@pytest.mark.parametrize(
    "raw", ["/new.txt", "/src/new.txt", "~backup", "a'b'", f"{FOLDER}/x", "file:x", "/nowhere-else/x", "'a"]
)
async def test_other_odd_names_are_names(tmp_path: Path, raw: str) -> None:
    (tmp_path / "src").mkdir()
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert (await files.write_file(raw, "x")).created


async def test_a_folder_that_is_there_is_meant(tmp_path: Path) -> None:
    for name in ("~", FOLDER):
        (tmp_path / name).mkdir()
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert (await files.write_file("~/x", "x")).path == "~/x"
        assert (await files.write_file(f"/{FOLDER}/x", "x")).path == f"{FOLDER}/x"
        assert (await files.write_file(f"{tmp_path}/new/x", "x")).path == "new/x"


@pytest.mark.parametrize("path", ["notes/", "notes//", "notes/.", "./notes/", "notes\\"])
@pytest.mark.parametrize("tool", ["write_file", "create_file", "append_file", "write_multiple", "apply_patch"])
async def test_a_path_with_a_trailing_slash_does_not_create_a_file(tmp_path: Path, tool: str, path: str) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        error = await refused("INVALID_PATH", MAKERS[tool](files, path))
        assert "names a folder" in error.message
        await refused("INVALID_PATH", files.replace_file(path, b"x"))
        await refused("INVALID_PATH", files.buffers.open(path))
        assert not (tmp_path / "notes").exists()
        await files.create_directory(path)
        assert (tmp_path / "notes").is_dir()


@pytest.mark.parametrize("destination", ["attic/", "attic/.", "attic//", "there/"])
async def test_a_move_to_a_path_with_a_trailing_slash_goes_into_the_folder(tmp_path: Path, destination: str) -> None:
    (tmp_path / "there").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    folder = tmp_path / destination.split("/")[0]
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.move_file("a.txt", destination)
        await files.copy_file("b.txt", destination)
        async with files.transaction() as tx:
            await tx.move_file("b.txt", f"{destination}/again/")
    assert ((folder / "a.txt").read_text(), (folder / "again" / "b.txt").read_text()) == ("a.txt", "b.txt")


async def test_a_folder_is_renamed_to_a_missing_path(tmp_path: Path) -> None:
    for name in ("d", "e", "there"):
        (tmp_path / name).mkdir()
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.move_file("d", "new/")
        await files.move_file("e/", "there/")
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if ".filetools" not in str(each)) == [
        "new", "there", "there/e",
    ]  # fmt: skip
