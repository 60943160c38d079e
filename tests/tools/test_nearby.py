from __future__ import annotations

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.models.records import Actor
from filetools.permissions.policy import Rule
from filetools.tools.answers import nearby
from filetools.tools.answers.nearby import similar_paths
from filetools.tools.registry import ToolRegistry
from tests.support import inside

PATHS = ("src/app.py", "src/test_app.py", "docs/guide.md", "docs/old/guide.md", "README.md", ".git/config")
BEFORE = dict.fromkeys(PATHS, b"x\n")


@pytest.mark.parametrize("path", ["", "zzz.md", "x" * 5000, "*.py", "src/app.py/x", "\0", ".filetools/x"])
async def test_where_nothing_is_alike_nothing_is_suggested(files: FileToolsFacade, path: str) -> None:
    assert await similar_paths(files, path) == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/App.PY", ["src/app.py"]),
        ("src/ap.py", ["src/app.py"]),
        ("app.py", ["src/app.py"]),
        ("home/ann/project/src/app.py", ["src/app.py"]),
        ("guide.md", ["docs/guide.md", "docs/old/guide.md"]),
        ("doc", ["docs"]),
    ],
)
async def test_paths_that_are_alike_are_suggested(files: FileToolsFacade, path: str, found: list[str]) -> None:
    assert sorted(await similar_paths(files, path)) == sorted(found)


async def test_the_error_of_a_call_suggests_them(files: FileToolsFacade) -> None:
    agent = files.for_actor(Actor(kind="agent", id="alice"))
    envelope = await ToolRegistry(agent).call("read_file", {"path": "src/ap.py"})
    assert envelope["details"] == {"path": "src/ap.py", "similar": ["src/app.py"]}
    assert envelope["suggested_action"].startswith("Did you mean 'src/app.py'?")


@pytest.mark.parametrize("asked", ["src/ap.py", "app.py"])
async def test_rules_that_forbid_looking_forbid_suggesting(files: FileToolsFacade, asked: str) -> None:
    rules = [Rule(tool=tool, path="**", level="block") for tool in ("list_files", "search_files")]
    inside.parts(files).gatekeeper.policy.use("allow", rules)
    agent = files.for_actor(Actor(kind="agent", id="alice"))
    assert "similar" not in (await ToolRegistry(agent).call("read_file", {"path": asked}))["details"]


async def test_of_a_large_tree_only_a_part_is_searched(files: FileToolsFacade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "MOST_FOLDERS", 0)
    assert await similar_paths(files, "app.py") == []
