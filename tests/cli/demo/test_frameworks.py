"""The scene of frameworks counts what is on the disk, and says which frameworks are missing."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from filetools.cli.demo import frameworks, play_only
from filetools.cli.demo.frameworks import FILE, FRAMEWORKS, Edit, RefusedError
from filetools.facade.facade import FileToolsFacade

MODULES = {
    "pydantic-ai": "pydantic_ai",
    "deepagents": "deepagents",
    "langchain": "langchain_core",
    "openai-agents": "agents",
}


def forgetful(files: FileToolsFacade) -> Edit:
    """Edits as a layer that only moves bytes makes them."""
    file = Path(files.root_paths[0]) / FILE

    async def edit(old: str, new: str) -> None:
        text = file.read_text()
        await asyncio.sleep(0)
        file.write_text(text.replace(old, new))

    return edit


def broken(files: FileToolsFacade) -> Edit:
    """Edits that fail in a way that is no refusal."""

    async def edit(old: str, new: str) -> None:
        raise RuntimeError

    return edit


def careful(files: FileToolsFacade) -> Edit:
    """Edits as they should be."""

    async def edit(old: str, new: str) -> None:
        try:
            await files.edit_file(FILE, old=old, new=new)
        except ValueError as error:
            raise RefusedError from error

    return edit


def test_every_installed_framework_keeps_its_edits(capsys: pytest.CaptureFixture[str]) -> None:
    assert play_only("frameworks")
    shown = capsys.readouterr().out
    for name in FRAMEWORKS:
        if find_spec(MODULES[name]) is None:
            assert f"{name} is not installed: pip install 'agent-filetools[{name}]'" in " ".join(shown.split())
        else:
            row = next(line.split() for line in shown.splitlines() if line.split()[:1] == [name])
            assert row[2:] == ["2", "0", "1", "ok"]


@pytest.mark.parametrize(("make", "holds"), [(careful, True), (forgetful, False), (broken, False)])
def test_the_scene_holds_only_if_no_edit_was_lost(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    make: frameworks.Make,
    holds: bool,
) -> None:
    monkeypatch.setattr(frameworks, "FRAMEWORKS", {"langchain": ("rich", make)})
    assert frameworks.play_frameworks() is holds
    assert ("BROKEN" in capsys.readouterr().out) is not holds
