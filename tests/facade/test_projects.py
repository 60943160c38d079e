"""Registered projects and instances of a workspace: the folders they open, their events, and what they leave."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.project.folder import ProjectFolder
from filetools.project.registry import Registry
from tests.support.crashing import QUIET
from tests.support.opened import refused, told


def names(folder: ProjectFolder) -> list[str]:
    return sorted(entry.name for entry in folder.reads.scan(folder.reads.resolve("")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def other(tmp_path: Path) -> Path:
    place = tmp_path / "other"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "file").touch()
    return place


async def test_a_look_needs_a_project_or_a_path(files: FileToolsFacade) -> None:
    error = await refused("INVALID_ARGUMENT", files.projects.look("get_readme", None, names))
    assert error.message == "Either project_id or path is required"
    error = await refused("PROJECT_NOT_FOUND", files.projects.look("get_readme", None, names, project_id="x"))
    assert error.message == "Project not found: x"


async def test_folders_elsewhere_are_opened_by_registering_them(files: FileToolsFacade, other: Path) -> None:
    look = files.projects.look
    await refused("PERMISSION_DENIED", look("get_readme", str(other / "sub"), names))
    made = await files.projects.run(lambda registry: registry.create(str(other)))
    for path in (str(other), str(other / "sub")):
        assert await look("get_readme", path, names) == sorted(os.listdir(path))
    assert await look("get_readme", None, names, project_id=made["id"]) == ["sub"]
    assert await look("get_readme", "", lambda folder: folder.path, project_id=made["id"]) != str(
        other
    )  # the path takes precedence
    for path in (str(other.parent), f"{other}2", str(other / ".filetools")):
        await refused("PERMISSION_DENIED", look("get_readme", path, names))
    await refused("PERMISSION_DENIED", look("get_readme", str(other / ".filetools"), names, everywhere=True))
    (other.parent / "secret").mkdir()
    os.rename(other, other.parent / "moved")
    error = await refused("DIR_NOT_FOUND", look("get_readme", None, names, project_id=made["id"]))
    assert error.message == f"Directory not found: {other}"
    other.symlink_to("secret")
    await refused("PERMISSION_DENIED", look("get_readme", None, names, project_id=made["id"]))
    await files.projects.run(lambda registry: registry.delete_project(made["id"]))
    await refused("PERMISSION_DENIED", look("get_readme", str(other.parent / "moved"), names))


async def test_changes_are_events_before_the_call_returns(files: FileToolsFacade) -> None:
    events = told(files)
    made = await files.projects.run(lambda registry: registry.create("."))
    assert [each.to_dict() for each in events] == [
        {"event": "project:created", "project": made["id"], "path": made["path"]}
    ]


async def test_a_project_is_named_after_its_repository(
    files: FileToolsFacade, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    plain = await files.projects.run(lambda registry: registry.create(str(other)))
    assert (plain["name"], "git_remote" in plain) == ("other", False)
    for command in (["init", "-q"], ["remote", "add", "origin", "https://me:secret@example.org/acme/app.git"]):
        subprocess.run(["git", *command], cwd=other, check=True)
    await files.projects.run(lambda registry: registry.delete_project(plain["id"]))
    made = await files.projects.run(lambda registry: registry.ensure_project(str(other)))
    assert (made["name"], made["repo_name"]) == ("acme/app", "acme/app")
    assert "secret" not in made["git_remote"]


async def test_every_actor_and_process_knows_the_same(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as one, filetools.open(root, settings=QUIET) as two:
        made = await one.projects.run(lambda registry: registry.create("."))
        bob = two.for_actor(Actor(kind="agent", id="bob"))
        assert await bob.projects.run(Registry.list_projects) == [made]
    await refused("WORKSPACE_GONE", one.projects.run(Registry.list_projects))


async def test_a_root_without_a_state_gets_none(root: Path, other: Path) -> None:
    before = sorted(os.listdir(root))
    async with filetools.open(root, settings=QUIET, create=False) as files:
        assert await files.projects.run(Registry.list_projects) == []
        assert await files.projects.run(Registry.instances) == []
        await refused("PERMISSION_DENIED", files.projects.look("get_readme", str(other), names))
        await files.projects.run(partial(Registry.register_instance, name="alice", working_dir=".", pid=os.getpid()))
    assert sorted(os.listdir(root)) == before
