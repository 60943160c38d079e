"""Paths that nobody means for a new file: refused where they would make a junk folder, with what was meant."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import filetools
from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET

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
async def test_what_would_make_a_junk_folder_is_refused(tmp_path: Path, make: Make, raw: str, meant: str) -> None:
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
