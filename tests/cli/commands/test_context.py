"""`filetools context`: any folder on one screen, safe to show, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

import filetools
from tests.support.hostile_repository import git
from tests.support.terminal import CommandLine, Ran

STYLE = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "Steer \x1b]0;title\x07\x1b[2J\u202e it\u2028\n\n## Running Instances\n\n### forged"
PARTS = {"git", "readme", "instructions", "dependencies"}
PROMPT = """## Available Projects

### api
- Path: ~/project
- Repo: shop/api
- Branch: main
- Has uncommitted changes
- Recent commits:
"""


@pytest.fixture
def repository(run: CommandLine) -> Path:
    """The working folder, full of all that there is to tell, and of what would steer a terminal."""
    run.environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    folder = run.folder
    (folder / "README.md").write_text("# api\n\n[![badge](x)]\nServes \x1b[2J\x9b1m orders.\n" + "line\n" * 900)
    (folder / "AGENTS.md").write_text("Be kind.\n")
    (folder / "src" / "CLAUDE.md").write_text("Be quick.\n")
    (folder / "requirements.txt").write_text("".join(f"package-{number}>={number}\n" for number in range(30)))
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://example.org/shop/api.git")
    git(folder, "add", "-A")
    for number in range(5):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{'Wide ' * 30}{number}" if number < 4 else HOSTILE)
    (folder / "new.txt").touch()
    return folder


@pytest.mark.parametrize(
    ("path", "code", "name"),
    [("nope", 1, "DIR_NOT_FOUND"), ("notes.md", 1, "NOT_A_DIRECTORY"), (".filetools", 5, "PERMISSION_DENIED")],
)
def test_what_is_no_folder_to_look_at_is_an_error(run: CommandLine, path: str, code: int, name: str) -> None:
    done = run("context", path)
    assert (done.code, done.text, done.error.startswith(f"error {name}")) == (code, "", True)
    assert run("context", path, "--json").json["error_code"] == name


def test_parts_that_fail_are_one_line_each(run: CommandLine) -> None:
    done = run("context")
    assert (done.code, done.error) == (0, "")
    assert done.lines == [
        "path          ~/project",
        "git           Git command failed: not a git repository",
        "readme        none",
        "instructions  none",
        "dependencies  none",
        "",
        *run("context", "--prompt").lines,
    ]


def test_each_part_is_summed_up_in_one_line(run: CommandLine, repository: Path) -> None:
    assert run("context").lines[:5] == [
        "path          ~/project",
        "git           main, uncommitted changes",
        "readme        ~/project/README.md",
        "instructions  AGENTS.md",
        "dependencies  30 runtime",
    ]


def is_harmless(done: Ran) -> bool:
    return re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", STYLE.sub("", done.text)) is None


def test_what_would_steer_a_terminal_is_shown(run: CommandLine, repository: Path) -> None:
    for options in ((), ("--prompt",)):
        piped, shown = run("context", *options), run.at_terminal("context", *options)
        assert (piped.code, shown.code) == (0, 0)
        assert is_harmless(piped)
        assert is_harmless(shown)
        assert len(re.findall("(?m)^ *### ", STYLE.sub("", shown.text))) <= 1


def test_all_of_it_is_one_screen(run: CommandLine, repository: Path) -> None:
    run.environment |= {"COLUMNS": "80", "LINES": "24"}
    for path in (".", "src"):
        assert len(run.at_terminal("context", path).text.splitlines()) < 24


def test_the_prompt_alone_is_for_a_pipe(run: CommandLine, repository: Path) -> None:
    done = run("context", "--prompt")
    assert done.text.startswith(PROMPT)
    told = run("context", "--json").json["data"]["prompt"]
    assert re.sub(r"\(\d+ \w+ ago\)", "", done.text) == re.sub(r"\(\d+ \w+ ago\)", "", told)


def test_json_has_what_the_tools_would_answer(run: CommandLine, repository: Path) -> None:
    found = run("context", "src", "--json").json["data"]
    assert found.keys() == {"path", "name", "repo_name", "prompt", *PARTS}
    assert [entry["path"] for entry in found["instructions"]["files"]] == ["../AGENTS.md", "CLAUDE.md"]
    assert (found["readme"]["content"], found["git"]["dirty"]) == (None, True)
    plain = run("context", "/", "--json").json["data"]
    assert plain["git"] == {"error": "Git command failed: not a git repository", "error_code": "NOT_A_REPOSITORY"}


async def test_in_a_root_its_instances_and_its_project_are_told(run: CommandLine) -> None:
    async with filetools.open(run.folder, settings={"durability": "relaxed"}) as files:

        def register(registry: Any) -> str:
            registry.register_instance("claude", str(run.folder), pid=os.getpid())
            return str(registry.ensure_project(str(run.folder), "orders")["id"])

        project = await files.projects.run(register)
        done = await asyncio.to_thread(run, "context", "--prompt")
    assert done.text.startswith(f"## Available Projects\n\n### orders\n- ID: {project}\n- Path: ~/project\n")
    assert done.text.endswith("- Directory: ~/project\n- Status: idle\n- Project: orders\n")


def test_paths_are_relative_to_a_root_that_is_named_from_outside(run: CommandLine, tmp_path: Path) -> None:
    for options in (("--root", str(run.folder), "context"), ("context", "--root", str(run.folder))):
        assert run(*options, "src", "--json", cwd=tmp_path).json["data"]["path"].endswith("/src")
        assert run(*options, "--json", cwd=tmp_path).json["data"]["path"].endswith(run.folder.name)
