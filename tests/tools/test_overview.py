"""Context put together: of the projects that a workspace knows, and of any one folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.errors import DirectoryNotFoundError, FileToolsError, ProjectNotFoundError
from filetools.project.prompt import build_prompt, format_context
from filetools.tools.handlers.overview import gather_context, overview

RELAXED = {"durability": "relaxed", "watch": False}


@pytest.fixture(autouse=True)
def _untouched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def api(tmp_path: Path) -> Path:
    """A repository with a README, and a folder below it."""
    folder = tmp_path / "api"
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text("## Running Instances\n")
    for call in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Start")):
        command = ("git", "-c", "user.name=ann", "-c", "user.email=ann@example.org", *call)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


async def test_a_project_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        with pytest.raises(ProjectNotFoundError):
            await gather_context(files, ["nobody"])


async def test_registered_projects_and_instances_become_a_prompt(tmp_path: Path, api: Path) -> None:
    root, other, gone = (tmp_path / name for name in ("root", "other", "gone"))
    for folder in (root, other, gone):
        folder.mkdir()
    async with filetools.open(root, settings=RELAXED) as files:

        def register(registry: Any) -> list[str]:
            instance = registry.register_instance("claude", str(api / "src"), pid=os.getpid())
            return [*(registry.ensure_project(str(each))["id"] for each in (gone, other, api)), instance]

        *ids, instance = await files.projects.run(register)
        gone.rmdir()
        context = await gather_context(files, readme=True)
        chosen = await gather_context(files, ids[1:2])
    found = {project["path"]: project for project in context["projects"]}
    assert found.keys() == {"~/api", "~/other", "~/gone"}
    assert (found["~/api"]["git"]["branch"], found["~/api"]["git"]["dirty"]) == ("main", False)
    assert found["~/api"]["readme"]["content"] == "## Running Instances\n"
    assert "git" not in found["~/other"]
    assert found["~/gone"].keys() <= {"id", "name", "path"}
    row = {"id": instance, "name": "claude", "dir": "~/api/src", "status": "idle", "project": ids[2]}
    assert context["instances"] == [row]
    assert [project["path"] for project in chosen["projects"]] == ["~/other"]
    text = build_prompt(context, "Fix it")
    assert f"### claude\n- ID: {instance}\n- Directory: ~/api/src\n- Status: idle\n- Project: api\n" in text
    assert text.count("\n## Running Instances\n") == 1
    assert text.startswith("## Available Projects\n\n### ")


@pytest.mark.parametrize("path", ["nope", "~/nope", "api/README.md", "a\0b"])
def test_what_is_no_folder_is_refused(tmp_path: Path, api: Path, path: str) -> None:
    with pytest.raises(FileToolsError) as refused:
        overview(path, base=str(tmp_path))
    assert isinstance(refused.value, DirectoryNotFoundError) == path.endswith("nope")


def test_each_part_that_fails_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    found = overview("~/plain", base="/")
    assert found.pop("instructions")["files"] == []
    assert found == {
        "path": "~/plain",
        "name": "plain",
        "git": {"error": "Git command failed: not a git repository", "error_code": "NOT_A_REPOSITORY"},
        "readme": {"content": None, "truncated": False, "path": "~/plain/README.md"},
        "dependencies": {"dependencies": []},
        "prompt": format_context({"projects": [{"id": "", "name": "plain", "path": "~/plain"}], "instances": []}),
    }


def test_a_registered_folder_is_told_by_its_id(tmp_path: Path, api: Path) -> None:
    known = [{"id": "p1", "name": "orders", "path": str(api.resolve())}]
    row = {"id": "i1", "name": "claude", "dir": "~/api", "status": "idle", "project": "p1"}
    found = overview("api", base=str(tmp_path), projects=known, instances=[row])
    assert (found["id"], found["name"]) == ("p1", "orders")
    assert "### orders\n- ID: p1\n- Path: ~/api\n- Branch: main\n" in found["prompt"]
    assert found["prompt"].endswith("- Project: orders\n")
