"""A search that finds nothing says what was looked at, and what a slightly different one finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry
from tests.support.mcp_clients import RELAXED


@pytest.fixture
async def tools(tmp_path: Path) -> AsyncIterator[ToolRegistry]:
    files = {
        "src/app.py": "def Find(a):\n    return a[0]\n", "src/view.py": "x = 1\n", "README.md": "# Find (all)\n",
        ".env": "SECRET=1\n", "build/out.js": "js\n", "conf/.keys": "js\n", ".gitignore": "build/\n",
    }  # fmt: skip
    for name, text in files.items():
        place = tmp_path / "root" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    async with filetools.open(tmp_path / "root", settings=RELAXED) as opened:
        yield ToolRegistry(opened.for_actor(Actor(kind="agent", id="bob")))


async def told(tools: ToolRegistry, name: str, **arguments: Any) -> list[str]:
    return tools.show(name, await tools.call(name, arguments)).text.splitlines()


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "nowhere"}, ["[. · nothing found · 3 files searched]"]),
        ({"pattern": "nowhere", "glob": "*.py"}, ["[. · nothing found · 2 files searched, 2 of 3 fit the glob]"]),
        ({"pattern": "find"}, [
            "[. · nothing found · 3 files searched]",
            "hint: found with ignore_case=true, such as src/app.py",
        ]),
        ({"pattern": "src/*.py"}, [
            "[. · nothing found · 3 files searched]",
            "hint: the pattern looks like a glob; search_files finds names; the parameter glob limits which files are searched",
        ]),
        ({"pattern": "x", "glob": ".*\\.rs$"}, [
            "[. · nothing found · 0 files searched, 0 of 3 fit the glob]",
            "hint: no file fits the glob '.*\\\\.rs$'",
        ]),
        ({"pattern": "x =", "glob": ".*\\.py$"}, [
            "src/view.py:1:x = 1", "[. · 1 line]",
            "hint: no file fits '.*\\\\.py$'; it was read as the glob '*.py'",
        ]),
        ({"pattern": "Find(a"}, [
            "src/app.py:1:def Find(a):", "[. · 1 line]",
            "hint: 'Find(a' is not a regex; it was searched as plain text",
        ]),
        ({"pattern": "nowhere\\|x ="}, [
            "src/view.py:1:x = 1", "[. · 1 line]",
            "hint: nothing matches 'nowhere\\\\|x ='; it was read as 'nowhere|x ='",
        ]),
        ({"pattern": "js", "path": "conf"}, [
            "[conf · nothing found · 0 files searched]",
            "hint: no file to search; all=true also searches ignored and hidden ones",
        ]),
    ],
)  # fmt: skip
async def test_an_empty_search_in_contents_explains(
    tools: ToolRegistry, arguments: dict[str, Any], lines: list[str]
) -> None:
    assert await told(tools, "grep_files", **arguments) == lines


@pytest.mark.parametrize(
    ("pattern", "hints"),
    [
        ("nowhere", []),
        ("*.PY", ["hint: case counts in a glob; others fit without it, such as src/app.py"]),
        ("src/.*", []),
        ("/src/app", ["hint: paths have no slash before them; 'src/app' fits, such as src/app.py"]),
        ("out.js", ["hint: found with all=true among what is ignored or hidden, such as build/out.js"]),
    ],
)
async def test_an_empty_search_for_names_explains(tools: ToolRegistry, pattern: str, hints: list[str]) -> None:
    assert await told(tools, "search_files", pattern=pattern) == [
        "[. · nothing found · 5 files and folders looked at]", *hints
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "glob"),
    [
        ("app.*\\.py$", "app*.py"), ("^src/.*app\\.(py|ts)$", "src/**/*app.{py,ts}"), ("app\\.py", "app.py"),
        ("*app.py|*.ts", "{*app.py,*.ts}"),
    ],
)  # fmt: skip
async def test_a_regex_for_names_is_read_as_the_glob_that_it_means(
    tools: ToolRegistry, pattern: str, glob: str
) -> None:
    [found, _, hint] = await told(tools, "search_files", pattern=pattern)
    assert found == "src/app.py  29"
    assert hint == f"hint: nothing fits {pattern!r}; it was read as the glob {glob!r}"


async def test_a_pattern_with_no_reading_is_refused(tools: ToolRegistry) -> None:
    assert (await told(tools, "grep_files", pattern="nowhere("))[0].startswith("INVALID_ARGUMENT")


async def test_an_absolute_pattern_is_made_relative_and_that_is_told(tools: ToolRegistry, tmp_path: Path) -> None:
    assert await told(tools, "search_files", pattern=f"{tmp_path}/root/src/*.py") == [
        "src/app.py  29", "src/view.py  6", "[. · 2 entries]",
        "hint: paths are relative to the root: it was read as 'src/*.py'",
    ]  # fmt: skip
    found = await told(tools, "grep_files", pattern="x =", glob=f"{tmp_path}/root/src/*.py")
    assert found[0] == "src/view.py:1:x = 1"
    assert found[-1] == "hint: paths are relative to the root: it was read as 'src/*.py'"
