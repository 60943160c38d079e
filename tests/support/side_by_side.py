"""The official file server and our dialect of it as two processes, the same calls to both over equal trees."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.declared import REPOSITORY
from tests.support.node import FILE_SERVER, installed_program

SIDES: Final = ("theirs", "ours")
OUTSIDE_BYTES: Final = 5000
"""Of the file that only links of the tree lead to."""
SECONDS: Final = 1_700_000_000
"""When all was changed last."""
_SCRIPT: Final = "dist/index.js"
_PLACE: Final = "{r}"
_TIMES: Final = re.compile(r"(created|accessed): \w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4} \([^)]+\)")
"""Those which tests cannot set."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call, and in what the answers differ; `{r}` stands for the root."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    difference: str | None = None

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments)}"[:100]


def case(tool: str, difference: str | None = None, /, **arguments: Any) -> Case:
    """Return a case."""
    return Case(tool=tool, arguments=arguments, difference=difference)


def planted(root: Path) -> Path:
    """Make the tree that both sides get, and beside it a file that is none of their business."""
    root.mkdir()
    outside = root.parent / "outside.txt"
    outside.write_text("s" * OUTSIDE_BYTES)
    texts = {
        "a.txt": "".join(f"{number}\n" for number in range(20)), "B.txt": "b" * 2000, "_c.md": "x", ".hidden": "y",
        "no-end.txt": "one\ntwo", "empty.txt": "", "src/app.py": "def f():\n    return 1\n", "src/sub/deep.py": "",
        "src/sub/Ünïcode name.txt": "ü\n", "node_modules/x/index.js": "x\n", "twice.txt": "same\nother\nsame\n",
        "move.me": "m\n", "write.me": "old\n",
    }  # fmt: skip
    for name, text in texts.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (root / "hollow").mkdir()
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (root / "latin.txt").write_bytes(b"caf\xe9\nplain\n")
    (root / "bom.txt").write_bytes(b"\xef\xbb\xbfone\n")
    (root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    (root / "s.MP3").write_bytes(b"ID3\x00")
    (root / "inside").symlink_to("a.txt")
    (root / "folder").symlink_to("src")
    (root / "out").symlink_to(outside)
    for place in root.rglob("*"):
        if not place.is_symlink():
            os.utime(place, (SECONDS, SECONDS))
    return root


def theirs(*roots: Path) -> StdioServerParameters:
    """Return what starts the official server."""
    program, *arguments = installed_program(FILE_SERVER, _SCRIPT)
    return StdioServerParameters(command=program, args=[*arguments, *map(str, roots)], env={"TZ": "UTC"})


def ours(*roots: Path, options: Sequence[str] = ()) -> StdioServerParameters:
    """Return what starts our dialect of it."""
    arguments = ["-m", "filetools", "mcp", *map(str, roots), "--dialect", "mcp-filesystem", *options]
    return StdioServerParameters(
        command=sys.executable, args=arguments, env={"PYTHONPATH": str(REPOSITORY), "TZ": "UTC"}
    )


@asynccontextmanager
async def connected(side: str, root: Path) -> AsyncIterator[Client]:
    """Start one side on a root."""
    start = theirs if side == "theirs" else ours
    async with Client(start(root), mode="legacy") as client:
        yield client


async def play(client: Client, root: Path, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Make the calls one after the other, and return the answers as they came, with `{r}` for the root."""
    answers = []
    for each in cases:
        arguments = json.loads(json.dumps(each.arguments).replace(_PLACE, str(root)))
        try:
            answer = (await client.call_tool(each.tool, arguments)).model_dump(by_alias=True, exclude_none=True)
        except Exception as error:  # what the protocol refuses is an answer, too  # noqa: BLE001
            answer = {"isError": True, "protocol": str(error)}
        text = json.dumps(answer, ensure_ascii=False).replace(str(root), _PLACE)
        answers.append(json.loads(_TIMES.sub(r"\1: some time", text)))
    return answers
