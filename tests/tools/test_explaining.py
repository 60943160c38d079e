"""A search that finds nothing says what was looked at, and what else to try."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.models.records import Actor
from filetools.tools.registry import ToolRegistry
from tests.support.mcp_clients import RELAXED

HIDDEN = "hint: all=true also searches ignored and hidden files"
CAPITALS = "hint: ignore_case=true ignores case"


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
        ({"pattern": "nowhere"}, ["[. · nothing found · 3 files searched]", HIDDEN, CAPITALS]),
        ({"pattern": "nowhere", "all": True, "ignore_case": True}, ["[. · nothing found · 7 files searched]"]),
        ({"pattern": "nowhere", "glob": "*.py"}, [
            "[. · nothing found · 2 files searched, 2 of 3 fit the glob]", HIDDEN, CAPITALS,
        ]),
        ({"pattern": "find(a", "literal": True}, ["[. · nothing found · 3 files searched]", HIDDEN, CAPITALS]),
        ({"pattern": "src/*.py"}, [
            "[. · nothing found · 3 files searched]", HIDDEN, CAPITALS,
            "hint: the pattern is a regex; literal=true searches for the exact text",
        ]),
        ({"pattern": "x", "glob": ".*\\.rs$"}, [
            "[. · nothing found · 0 files searched, 0 of 3 fit the glob]",
            "hint: no file fits the glob '.*\\\\.rs$'",
        ]),
        ({"pattern": "js", "path": "conf"}, ["[conf · nothing found · 0 files searched]", HIDDEN]),
    ],
)  # fmt: skip
async def test_an_empty_search_in_contents_explains(
    tools: ToolRegistry, arguments: dict[str, Any], lines: list[str]
) -> None:
    assert await told(tools, "grep_files", **arguments) == lines


@pytest.mark.parametrize("pattern", ["nowhere", "*.PY", "src/.*", ".*app\\.py$"])
async def test_an_empty_search_for_names_explains(tools: ToolRegistry, pattern: str) -> None:
    glob = ["hint: the pattern is a glob, such as src/**/*.py, and case-sensitive"] if "*" in pattern else []
    assert await told(tools, "search_files", pattern=pattern) == [
        "[. · nothing found · 5 files and folders looked at]", *glob,
        "hint: all=true also finds what is ignored or hidden",
    ]  # fmt: skip


async def test_a_pattern_that_is_not_valid_is_refused(tools: ToolRegistry) -> None:
    assert (await told(tools, "grep_files", pattern="nowhere("))[0].startswith("INVALID_ARGUMENT")


async def test_an_absolute_pattern_is_made_relative(tools: ToolRegistry, tmp_path: Path) -> None:
    assert await told(tools, "search_files", pattern=f"{tmp_path}/root/src/*.py") == [
        "src/app.py  29", "src/view.py  6", "[. · 2 entries]",
    ]  # fmt: skip
    found = await told(tools, "grep_files", pattern="x =", glob=f"{tmp_path}/root/src/*.py")
    assert found[0] == "src/view.py:1:x = 1"


async def test_lines_around_matches_that_are_near_each_other_come_once(tools: ToolRegistry, tmp_path: Path) -> None:
    (tmp_path / "root/a.txt").write_text("a\nb 1\nb 2\nc\nd\ne\nf\nb 3\n")
    (tmp_path / "root/b.txt").write_text("b 4\n")
    assert await told(tools, "grep_files", pattern="^b", glob="*.txt", context=1) == [
        "a.txt-1-a", "a.txt:2:b 1", "a.txt:3:b 2", "a.txt-4-c", "--", "a.txt-7-f", "a.txt:8:b 3", "--", "b.txt:1:b 4",
        "[. · 4 lines]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [b"1%\r2%\r\nERROR\n", b"a\r\r\nERROR\n", "a\rb\nERROR\n".encode("utf-16"), b"a\rERROR\r", b"\xe9\r\nERROR"],
)
async def test_a_line_has_one_number_whoever_counts(tools: ToolRegistry, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "root/log").write_bytes(content)
    found = await tools.call("grep_files", {"pattern": "^ERROR", "path": "log"})
    line = found["data"]["matches"][0]["line"]
    assert (await tools.call("read_file", {"path": "log", "offset": line, "limit": 1}))["data"][
        "content"
    ].strip() == "ERROR"


@pytest.mark.parametrize("name", ["app/[locale]/page.tsx", "app/[...slug]/x.tsx", "app/(a)/{b}.tsx", "app/!x*.tsx"])
async def test_a_name_that_is_there_is_meant_whatever_signs_it_has(
    tools: ToolRegistry, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "root" / name
    place.parent.mkdir(parents=True)
    place.write_text("needle\n")
    for pattern in (name, f"./{name}"):
        found = await tools.call("grep_files", {"pattern": "needle", "glob": pattern})
        assert [each["path"] for each in found["data"]["matches"]] == [name]
    found = await tools.call("search_files", {"pattern": name})
    assert name in [each["path"] for each in found["data"]["entries"]]


@pytest.mark.parametrize("target", ["src", "src/app.py", "nowhere"])
async def test_a_link_is_called_one_by_every_tool(tools: ToolRegistry, tmp_path: Path, target: str) -> None:
    (tmp_path / "root/link").symlink_to(target)
    calls = {"grep_files": {"pattern": "x"}, "list_files": {}, "read_file": {}}
    texts = {name: await told(tools, name, path="link", **more) for name, more in calls.items()}
    assert {lines[0].partition(":")[0] for lines in texts.values()} == {"SYMLINK_NOT_ALLOWED"}
    assert f"'link' is a symbolic link (it points to {target!r})" in texts["grep_files"][0]


FOLDER = next(name for name in ("etc", "usr", "Users") if os.path.lexists(f"/{name}"))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("read_file", {}), ("list_files", {}), ("file_info", {}), ("grep_files", {"pattern": "x"}), ("delete_file", {}),
        ("write_file", {"content": "x"}), ("edit_file", {"old_string": "x", "new_string": "y"}), ("exists", {}),
    ],
)  # fmt: skip
async def test_an_absolute_path_outside_is_called_so_by_every_tool(
    tools: ToolRegistry, tmp_path: Path, name: str, more: dict[str, Any]
) -> None:
    lines = await told(tools, name, path=f"/{FOLDER}/x.txt", **more)
    assert lines[0].startswith("ABSOLUTE_PATH")
    assert f"root: {tmp_path / 'root'}" in lines


async def test_a_path_with_a_slash_before_it_is_one_of_the_root(tools: ToolRegistry) -> None:
    assert (await told(tools, "read_file", path="/src/view.py"))[0] == "x = 1"


@pytest.mark.parametrize(
    ("content", "old", "said"),
    [
        ("sou\u0308p\nend\n", "so\u00fcp", r"'u\u0308p'"),
        ("a\u2009b\n", "a b", r"'\u2009b'"),
        ("a\u2060b\n", "ab", r"'\u2060b'"),
        ("first\nlast\n", "first\n...\nlost", "Your old text has the line '...'"),
        ("first\nlast\n", "first\\nlast", "Your old text has a backslash and an n"),
    ],
)
async def test_an_edit_that_fits_nowhere_says_what_differs(
    tools: ToolRegistry, tmp_path: Path, content: str, old: str, said: str
) -> None:
    (tmp_path / "root/a.txt").write_text(content)
    lines = await told(tools, "edit_file", path="a.txt", old_string=old, new_string="new")
    assert lines[0].startswith("EDIT_NOT_FOUND")
    assert said in "\n".join(lines)


@pytest.mark.parametrize("at", [0, 4, 8])
async def test_the_closest_place_is_all_lines_that_are_meant(tools: ToolRegistry, tmp_path: Path, at: int) -> None:
    lines = [
        f"{name} = {number}" if name else ""
        for number, name in enumerate(["one", "two", "three", "", "four", "five", "six", "", "last"])
    ]
    meant = ["  pack:", "    image: debian", "    script: make pack"]
    lines[at:at] = ["", *meant, ""]
    (tmp_path / "root/a.txt").write_text("\n".join(lines))
    old = "  pack:\n    image: debian-slim\n    script: make pack\n"
    answer = await tools.call("edit_file", {"path": "a.txt", "old_string": old, "new_string": "new"})
    assert answer["details"]["closest"]["text"].splitlines() == meant


async def test_the_last_progress_of_a_batch_is_its_end(tools: ToolRegistry) -> None:
    reports: list[tuple[int, int | None, str | None]] = []
    items = [{"path": f"{number}.txt", "content": "x"} for number in range(100)]
    answer = await tools.call("write_multiple", {"items": items}, progress=lambda *report: reports.append(report))
    assert (answer["success"], reports[-1][:2]) == (True, (100, 100))


@pytest.mark.parametrize(
    ("called", "meant"), [("append_to", None), ("apply_diff", "apply_patch"), ("mkdir", "create_directory")]
)
async def test_a_tool_of_another_product_is_answered_with_ours(
    tools: ToolRegistry, called: str, meant: str | None
) -> None:
    answer = await tools.call(called, {"path": "a.txt"})
    assert answer["error_code"] == "UNKNOWN_TOOL"
    assert meant is None or answer["details"]["nearest"] == meant
