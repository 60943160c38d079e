"""The dialect mcp-filesystem beside the official file server: the same, or different on purpose and for the better."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.support.side_by_side import OUTSIDE_BYTES, SIDES, case, connected, planted, play

PARALLEL = 30
"""Edits at once."""
ROUNDS = 3
CASES = [
    case("list_allowed_directories"),
    case("list_directory", path="{r}"),
    case("list_directory", path="{r}/hollow"),
    case("list_directory_with_sizes", path="{r}/node_modules/x"),
    case("list_directory_with_sizes", "links", path="{r}"),
    case("list_directory_with_sizes", "sizes", path="{r}/src", sortBy="size"),
    case("directory_tree", path="{r}"),
    case("directory_tree", path="{r}", excludePatterns=["node_modules", "*.txt", "src/sub"]),
    case("list_directory", path="{r}/folder"),
    case("read_text_file", path="{r}/src/sub/U\u0308nïcode name.txt"),
    case("write_file", path="{r}/src/sub/neu-ü.txt", content="1\n"),
    case("write_file", path="{r}/src/sub/neu-u\u0308.txt", content="2\n"),
    case("search_files", path="{r}/src/sub", pattern="neu*"),
    *(
        case("search_files", path="{r}", pattern=pattern)
        for pattern in (
            "**/*.py", "*.py", "*.txt", "**", "*", "src/*", "src/**", "**/sub/**", "{a,B}.txt", "**/*.{py,js}", "?.txt",
            "[ab].txt", "[!a].txt", "[A-Z].txt", "**/.*", ".*", "src", "**/Ü*", "nothing", "!*.txt", "x\\*", "s*/*.py",
            "**/*", "{r}/*", "src/**/deep.py", "**/src/app.py", "[", "a.tx[t", "",
        )
    ),
    case("search_files", "one choice", path="{r}", pattern="{a.txt}"),
    case("search_files", path="{r}", pattern="**/*.py", excludePatterns=["src/sub"]),
    case("search_files", path="{r}", pattern="**", excludePatterns=["**/node_modules", "*.txt", ".*"]),
    case("read_text_file", path="{r}/a.txt"),
    case("read_text_file", path="a.txt"),
    case("read_text_file", path="{r}/src/sub/Ünïcode name.txt"),
    case("read_text_file", path="{r}/inside"),
    case("read_text_file", path="{r}/a.txt", head=3),
    case("read_text_file", path="{r}/no-end.txt", head=2),
    case("read_text_file", path="{r}/no-end.txt", tail=1),
    case("read_text_file", "tail", path="{r}/a.txt", tail=2),
    case("read_text_file", "ends", path="{r}/crlf.txt", head=2),
    case("read_text_file", "encoding", path="{r}/latin.txt"),
    case("read_text_file", "bom", path="{r}/bom.txt"),
    case("read_text_file", "binary", path="{r}/p.png"),
    case("read_text_file", "numbers", path="{r}/a.txt", head=2.5),
    case("read_text_file", "unknown", path="{r}/a.txt", hed=2),
    case("read_text_file", "dots", path="{r}/src/../a.txt"),
    case("read_text_file", "errors", path="{r}/a.txt", head=1, tail=1),
    case("read_text_file", "types", path="{r}/a.txt", head="1"),
    case("read_text_file", "errors", path="{r}/nowhere.txt"),
    case("read_text_file", "errors", path="{r}/out"),
    case("read_text_file", "errors", path="/etc/hostname"),
    case("read_multiple_files", paths=["{r}/a.txt", "src/app.py"]),
    case("read_multiple_files", "errors", paths=["{r}/a.txt", "{r}/nowhere", "{r}/empty.txt"]),
    case("read_media_file", path="{r}/p.png"),
    case("read_media_file", path="{r}/s.MP3"),
    case("get_file_info", path="{r}/a.txt"),
    case("get_file_info", "sizes", path="{r}/src"),
    case("edit_file", path="{r}/a.txt", edits=[{"oldText": "10\n", "newText": "ten\n"}], dryRun=True),
    case("edit_file", path="{r}/a.txt", edits=[{"oldText": "10\n", "newText": "ten\n"}, {"oldText": "19", "newText": "```"}]),
    case(
        "edit_file", path="{r}/a.txt",
        edits=[{"oldText": "0\n1\n2\n", "newText": ""}, {"oldText": "3\n4\n", "newText": "3\n3a\n4\n"}],
    ),
    case("edit_file", path="{r}/no-end.txt", edits=[{"oldText": "two", "newText": "zwei"}]),
    case("edit_file", "errors", path="{r}/a.txt", edits=[{"oldText": "nowhere", "newText": ""}]),
    case("edit_file", "ambiguous", path="{r}/twice.txt", edits=[{"oldText": "same", "newText": "one"}]),
    case("edit_file", "loose", path="{r}/src/app.py", edits=[{"oldText": "return  1\n".strip() + " ", "newText": "return 2"}]),
    case("edit_file", "empty", path="{r}/a.txt", edits=[], dryRun=True),
    case("write_file", path="{r}/new.txt", content="new\n"),
    case("write_file", path="{r}/new.txt", content="newer\n"),
    case("read_text_file", path="{r}/write.me"),
    case("write_file", path="{r}/write.me", content="über\n"),
    case("read_text_file", path="write.me"),
    case("write_file", "unread", path="{r}/_c.md", content="z"),
    case("write_file", "parents", path="{r}/made/by/writing.txt", content=""),
    case("write_file", "errors", path="{r}/out", content=""),
    case("create_directory", path="{r}/x/y/z"),
    case("create_directory", path="{r}/x"),
    case("move_file", source="{r}/move.me", destination="{r}/x/moved"),
    case("move_file", source="{r}/x", destination="{r}/y"),
    case("move_file", "parents", source="{r}/y/moved", destination="{r}/w/v/moved"),
    case("move_file", "errors", source="{r}/y", destination="{r}/src"),
    case("write_file", "state", path="{r}/.filetools/x.txt", content=""),
    case("no_such_tool", "unknown-tool"),
]  # fmt: skip


def edit(path: Path, old: str, new: str) -> dict[str, Any]:
    return {"path": str(path), "edits": [{"oldText": old, "newText": new}]}


async def parallel_edits(client: Client, root: Path) -> tuple[int, int]:
    """Return how many edits were reported as done, and how many were."""
    reported = made = 0
    for round_number in range(ROUNDS):
        path = root / f"{round_number}.log"
        path.write_text("".join(f"line {number} open\n" for number in range(PARALLEL)))
        calls = [
            client.call_tool("edit_file", edit(path, f"line {number} open\n", f"line {number} done\n"))
            for number in range(PARALLEL)
        ]
        reported += sum(not result.is_error for result in await asyncio.gather(*calls))
        made += path.read_text().count("done")
    return reported, made


async def edited_bytes(client: Client, root: Path) -> tuple[bytes, ...]:
    await client.call_tool("edit_file", edit(root / "latin.txt", "plain", "edited"))
    await client.call_tool("edit_file", edit(root / "crlf.txt", "two\nthree", "2\n3"))
    await client.call_tool("edit_file", edit(root / "bom.txt", "one", "two"))
    return tuple((root / name).read_bytes() for name in ("latin.txt", "crlf.txt", "bom.txt"))


async def ambiguous_edit(client: Client, root: Path) -> tuple[bool, str]:
    result = await client.call_tool("edit_file", edit(root / "twice.txt", "same", "one"))
    return result.is_error, (root / "twice.txt").read_text()


async def stale_text(client: Client, root: Path) -> tuple[bool, str, int]:
    path = root / "no-end.txt"
    path.write_text("one\ntwo\nthree\n")
    await client.call_tool("read_text_file", {"path": str(path)})
    path.write_text("one, by somebody else\ntwo\nthree\n")
    result = await client.call_tool("write_file", {"path": str(path), "content": "one\ntwo\nthree, by the agent\n"})
    return result.is_error, path.read_text(), len(result.content)


WORKS = {each.__name__: each for each in (parallel_edits, edited_bytes, ambiguous_edit, stale_text)}


@dataclass
class Side:
    """What one side published, answered and did."""

    tools: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    works: dict[str, Any]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Side]:
    """What both sides do with all cases in a row, and then with each work, on trees of their own; each started once."""

    async def played(side: str) -> Side:
        root = planted(tmp_path_factory.mktemp(side) / "tree")
        async with connected(side, root) as client:
            published = (await client.list_tools()).tools
            return Side(
                [each.model_dump(by_alias=True, exclude_none=True) for each in published],
                await play(client, root, CASES),
                {name: await work(client, planted(root / name)) for name, work in WORKS.items()},
            )

    return {side: asyncio.run(played(side)) for side in SIDES}


@pytest.mark.parametrize("index", range(len(CASES)), ids=[str(each) for each in CASES])
def test_a_call_is_answered_alike_or_differently_on_purpose(sides: dict[str, Side], index: int) -> None:
    theirs, ours = (sides[side].answers[index] for side in SIDES)
    difference = CASES[index].difference
    if difference is None:
        assert ours == theirs
        return
    assert ours != theirs, f"no difference any more: {difference}"
    if difference in ("errors", "unknown-tool"):
        assert ours["isError"] == theirs["isError"]
        assert ours.get("structuredContent") is None or not ours["isError"]


def test_the_same_tools_are_published_but_for_their_descriptions(sides: dict[str, Side]) -> None:
    for theirs, ours in zip(*(copy.deepcopy(sides[side].tools) for side in SIDES), strict=True):
        assert theirs.pop("execution") == {"taskSupport": "forbidden"}
        assert ours.pop("_meta", {}).keys() <= {"anthropic/maxResultSizeChars", "anthropic/alwaysLoad"}
        assert ours["description"] != theirs["description"]
        assert undescribed(ours) == undescribed(theirs)


def undescribed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: undescribed(each) for name, each in value.items() if name != "description"}
    return [undescribed(each) for each in value] if isinstance(value, list) else value


def test_of_parallel_edits_theirs_loses_some_and_ours_none(sides: dict[str, Side]) -> None:
    reported, made = sides["theirs"].works["parallel_edits"]
    assert made < reported
    assert sides["ours"].works["parallel_edits"] == (PARALLEL * ROUNDS, PARALLEL * ROUNDS)


def test_bytes_that_were_not_edited_change_with_theirs_and_stay_with_ours(sides: dict[str, Side]) -> None:
    latin, crlf, bom = sides["theirs"].works["edited_bytes"]
    assert (latin, crlf, bom) == (b"caf\xef\xbf\xbd\nedited\n", b"one\n2\n3\n", b"\xef\xbb\xbftwo\n")
    assert sides["ours"].works["edited_bytes"] == (b"caf\xe9\nedited\n", b"one\r\n2\r\n3\r\n", bom)


def test_of_several_matches_theirs_takes_the_first_and_ours_none(sides: dict[str, Side]) -> None:
    assert sides["theirs"].works["ambiguous_edit"] == (False, "one\nother\nsame\n")
    assert sides["ours"].works["ambiguous_edit"] == (True, "same\nother\nsame\n")


def test_a_stale_text_replaces_others_changes_with_theirs_and_is_merged_with_ours(sides: dict[str, Side]) -> None:
    assert sides["theirs"].works["stale_text"] == (False, "one\ntwo\nthree, by the agent\n", 1)
    merged = "one, by somebody else\ntwo\nthree, by the agent\n"
    assert sides["ours"].works["stale_text"] == (False, merged, 2)


def test_a_link_that_leads_outside_tells_nothing_of_what_is_there(sides: dict[str, Side]) -> None:
    index = next(number for number, each in enumerate(CASES) if each.difference == "links")
    theirs, ours = (sides[side].answers[index]["content"][0]["text"] for side in SIDES)
    told = f"{OUTSIDE_BYTES / 1024:.2f} KB"
    assert any("out" in line and told in line for line in theirs.splitlines())
    assert told not in ours
