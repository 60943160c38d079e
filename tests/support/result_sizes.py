"""How many bytes of results typical tasks take, through the default set of tools and through the official file server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp import Client

ROOT: Final = "/home/ann/project"
"""What stands in results for the root, whose name would else change their sizes."""
MODULES: Final = 8
PLACES: Final = 20
"""Where the module that is renamed in names its constant."""
_VERSION: Final = re.compile(r"version ([0-9a-f]{12})")

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a model wants, and the calls that bring it about on each side; `{r}` stands for the root.

    A value `{version}` stands for the version that the call before told.
    """

    name: str
    theirs: tuple[Call, ...]
    ours: tuple[Call, ...]
    official_bytes: int
    """What the official server answers, in all."""


def module(number: int) -> str:
    """Return the text of a module of the project."""
    functions = (f"def step_{at}(value: int) -> int:\n    return value + {at}\n\n\n" for at in range(12))
    return f'"""Part {number} of the work."""\n\n' + "".join(functions)


CONSTANTS: Final = "".join(f"LIMIT_{at} = OLD_NAME + {at}\n" for at in range(PLACES))


def planted(root: Path) -> Path:
    """Make the project that the tasks are done in."""
    for number in range(MODULES):
        place = root / "src" / "shop" / f"part_{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(module(number))
    (root / "src" / "limits.py").write_text(CONSTANTS)
    (root / "tests").mkdir()
    for name, text in {
        "README.md": "# Work\n\nDone in parts.\n",
        "pyproject.toml": '[project]\nname = "shop"\n',
    }.items():
        (root / name).write_text(text)
    (root / "tests" / "test_work.py").write_text("from work.part_3 import step_7\n\n\nassert step_7(1) == 8\n")
    return root


def _old(at: int) -> dict[str, str]:
    return {"oldText": f"LIMIT_{at} = OLD_NAME", "newText": f"LIMIT_{at} = NEW_NAME"}


_PART: Final = "src/shop/part_3.py"
_PARTS: Final = tuple(f"src/shop/part_{number}.py" for number in range(MODULES))
_NEW: Final = "# Notes\n\nNone yet.\n"
_WRONG, _RIGHT, _BETTER = "return valeu + 7", "return value + 7", "return value + 70"

TASKS: Final = (
    Task(
        name="Read a file",
        theirs=(("read_text_file", {"path": f"{{r}}/{_PART}"}),),
        ours=(("read_file", {"path": _PART}),),
        official_bytes=1_560,
    ),
    Task(
        name="Read lines 31 to 34 of it",
        theirs=(("read_text_file", {"path": f"{{r}}/{_PART}", "head": 34}),),
        ours=(("read_file", {"path": _PART, "offset": 31, "limit": 4}),),
        official_bytes=1_084,
    ),
    Task(
        name="Read three files",
        theirs=(("read_multiple_files", {"paths": [f"{{r}}/{each}" for each in _PARTS[:3]]}),),
        ours=tuple(("read_file", {"path": each}) for each in _PARTS[:3]),
        official_bytes=4_774,
    ),
    Task(
        name="List a folder",
        theirs=(("list_directory", {"path": "{r}/src/shop"}),),
        ours=(("list_files", {"path": "src/shop"}),),
        official_bytes=374,
    ),
    Task(
        name="See the whole tree",
        theirs=(("directory_tree", {"path": "{r}"}),),
        ours=(("list_files", {"recursive": True}),),
        official_bytes=2_854,
    ),
    Task(
        name="Find files by name",
        theirs=(("search_files", {"path": "{r}", "pattern": "**/part_*.py"}),),
        ours=(("search_files", {"pattern": "part_*.py"}),),
        official_bytes=694,
    ),
    Task(
        name="Find where a name is used",
        theirs=(
            ("search_files", {"path": "{r}", "pattern": "**/*.py"}),
            ("read_multiple_files", {"paths": [f"{{r}}/{each}" for each in (*_PARTS, "src/limits.py", "tests/test_work.py")]}),
        ),
        ours=(("grep_files", {"pattern": "step_7"}),),
        official_bytes=14_740,
    ),
    Task(
        name="Ask for the facts of a file",
        theirs=(("get_file_info", {"path": "{r}/README.md"}),),
        ours=(("file_info", {"path": "README.md"}),),
        official_bytes=652,
    ),
    Task(
        name="Create a file",
        theirs=(("write_file", {"path": "{r}/NOTES.md", "content": _NEW}),),
        ours=(("write_file", {"path": "NOTES.md", "content": _NEW}),),
        official_bytes=186,
    ),
    Task(
        name="Read a file and replace it",
        theirs=(
            ("read_text_file", {"path": "{r}/README.md"}),
            ("write_file", {"path": "{r}/README.md", "content": _NEW}),
        ),
        ours=(
            ("read_file", {"path": "README.md"}),
            ("write_file", {"path": "README.md", "content": _NEW, "expected_version": "{version}"}),
        ),
        official_bytes=330,
    ),
    Task(
        name="Change a line",
        theirs=(("edit_file", {"path": f"{{r}}/{_PART}", "edits": [{"oldText": _RIGHT, "newText": _BETTER}]}),),
        ours=(("edit_file", {"path": _PART, "old_string": _RIGHT, "new_string": _BETTER}),),
        official_bytes=938,
    ),
    Task(
        name="Change a line that is remembered wrongly",
        theirs=(
            ("edit_file", {"path": f"{{r}}/{_PARTS[4]}", "edits": [{"oldText": _WRONG, "newText": _BETTER}]}),
            ("read_text_file", {"path": f"{{r}}/{_PARTS[4]}"}),
            ("edit_file", {"path": f"{{r}}/{_PARTS[4]}", "edits": [{"oldText": _RIGHT, "newText": _BETTER}]}),
        ),
        ours=(
            ("edit_file", {"path": _PARTS[4], "old_string": _WRONG, "new_string": _BETTER}),
            ("edit_file", {"path": _PARTS[4], "old_string": _RIGHT, "new_string": _BETTER}),
        ),
        official_bytes=2_606,
    ),
    Task(
        name=f"Rename what stands in {PLACES} lines",
        theirs=(("edit_file", {"path": "{r}/src/limits.py", "edits": [_old(at) for at in range(PLACES)]}),),
        ours=(
            ("edit_file", {"path": "src/limits.py", "old_string": "OLD_NAME", "new_string": "NEW_NAME", "replace_all": True}),
        ),
        official_bytes=2_646,
    ),
    Task(
        name="Move a file",
        theirs=(("move_file", {"source": "{r}/pyproject.toml", "destination": "{r}/src/pyproject.toml"}),),
        ours=(("move_file", {"source": "pyproject.toml", "destination": "src/pyproject.toml"}),),
        official_bytes=272,
    ),
)  # fmt: skip


async def measured(client: Client, root: Path, task: Task, calls: tuple[Call, ...]) -> int:
    """Return the bytes of the results of a task's calls, as they travel."""
    total, version = 0, ""
    for name, given in calls:
        arguments = json.loads(json.dumps(given).replace("{r}", str(root)).replace("{version}", version))
        result = (await client.call_tool(name, arguments)).model_dump(by_alias=True, exclude_none=True, mode="json")
        is_wrong = _WRONG in json.dumps(given)
        assert result.get("isError", False) is is_wrong, (task.name, result)
        # What a client of this SDK fills in for servers that do not know it.
        result.pop("resultType", None)
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":")).replace(str(root), ROOT)
        total += len(text.encode())
        if told := _VERSION.search(text):
            version = told[1]
    return total


def table(ours: Mapping[str, int]) -> str:
    """Return the table of sizes as it stands in the documents."""
    rows = [f"| {each.name} | {each.official_bytes:,} | {ours[each.name]:,} |" for each in TASKS]
    return "\n".join(["| Task | official server | filetools |", "| --- | ---: | ---: |", *rows, ""])
