"""The dialect mcp-filesystem on real files: what it refuses, and what it answers. The original stands beside it elsewhere."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.tools.answers.seen import ShownCall, TextLimits
from filetools.tools.answers.shown import shown
from filetools.tools.dialects import MCP_FILESYSTEM
from filetools.tools.dialects.mcp_filesystem.looking import format_size
from filetools.tools.registry import ToolRegistry
from filetools.tools.roots import Root, Roots
from tests.support.crashing import QUIET, grow, snapshot
from tests.support.people import ALICE, BOB

SETTINGS = {**QUIET, "follow_symlinks": True}
BINARY = b"\x89PNG\r\n\x1a\n\x00"
TOOLS = {tool.name: tool for tool in MCP_FILESYSTEM.tools}


class Speaker:
    """One caller of the dialect, on the roots it is served."""

    def __init__(self, registry: ToolRegistry, roots: tuple[Path, ...]) -> None:
        self.registry = registry
        self.roots = roots

    async def shown(self, name: str, **arguments: Any) -> ShownCall:
        """Call a tool with `{0}`, `{1}` in its arguments for the roots, and return what the model sees."""
        text = json.dumps(arguments)
        for index, root in enumerate(self.roots):
            text = text.replace(f"{{{index}}}", str(root))
        return shown(TOOLS[name], await self.registry.call(name, json.loads(text)), TextLimits())

    async def text(self, name: str, **arguments: Any) -> str:
        """Call a tool that must succeed."""
        seen = await self.shown(name, **arguments)
        assert not seen.is_error, seen.text
        assert seen.structured == {"content": seen.text}
        return seen.text

    async def code(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return its code."""
        seen = await self.shown(name, **arguments)
        assert seen.is_error
        assert seen.structured is None
        return seen.text.partition(":")[0]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first", tmp_path / "second"
    grow(
        first, {
            "a.txt": b"one\ntwo\n", "crlf.txt": b"one\r\ntwo\r\n", "latin.txt": b"caf\xe9\nplain\n", "bin": BINARY,
            "src/app.py": b"same\nsame\n", "part/in.txt": b"in\n", ".git/config": b"c", "empty": None,
        },
    )  # fmt: skip
    grow(second, {"b.txt": b"b\n"})
    (first / "part" / "up").symlink_to("../a.txt")
    (first / "out").symlink_to(second / "b.txt")
    return first, second


@pytest.fixture
async def speaker(places: tuple[Path, Path]) -> AsyncIterator[Speaker]:
    first, second = places
    async with filetools.open(first, settings=SETTINGS) as one, filetools.open(second, settings=SETTINGS) as two:
        yield Speaker(MCP_FILESYSTEM.registry(Roots.of(one.for_actor(ALICE), two.for_actor(ALICE))), places)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("read_text_file", {"path": "/etc/passwd"}, "ABSOLUTE_PATH"),
        ("read_text_file", {"path": "{0}x/a.txt"}, "ABSOLUTE_PATH"),
        ("read_text_file", {"path": "{0}/../second/b.txt"}, "PATH_TRAVERSAL"),
        ("read_text_file", {"path": "{0}/out"}, "SYMLINK_ESCAPE"),
        ("write_file", {"path": "{0}/out", "content": ""}, "SYMLINK_ESCAPE"),
        ("read_text_file", {"path": "{0}/.filetools/state/journal.db"}, "PERMISSION_DENIED"),
        ("read_text_file", {"path": "{0}/bin"}, "INVALID_ARGUMENT"),
        ("read_text_file", {"path": "{0}/a.txt", "head": 1, "tail": 1}, "INVALID_ARGUMENT"),
        ("write_file", {"path": "{0}/a.txt", "content": "x"}, "VERSION_MISMATCH"),
        ("edit_file", {"path": "{0}/a.txt", "edits": []}, "INVALID_ARGUMENT"),
        ("edit_file", {"path": "{0}/a.txt", "edits": [{"oldText": "tow", "newText": "x"}]}, "EDIT_NOT_FOUND"),
        ("edit_file", {"path": "{0}/src/app.py", "edits": [{"oldText": "same", "newText": "x"}]}, "EDIT_AMBIGUOUS"),
        ("edit_file", {"path": "{0}/latin.txt", "edits": [{"oldText": "plain", "newText": "€"}]}, "ENCODING_ERROR"),
        ("create_directory", {"path": "/elsewhere"}, "ABSOLUTE_PATH"),
        ("list_directory", {"path": "{0}/nope"}, "DIR_NOT_FOUND"),
        ("search_files", {"path": "{0}", "pattern": "{a,b}" * 9}, "INVALID_ARGUMENT"),
        ("move_file", {"source": "{0}/a.txt", "destination": "{1}/a.txt"}, "INVALID_ARGUMENT"),
        ("move_file", {"source": "{0}/a.txt", "destination": "{0}/crlf.txt"}, "FILE_EXISTS"),
        ("move_file", {"source": "{0}/nope", "destination": "{0}/else"}, "FILE_NOT_FOUND"),
    ],
)
async def test_what_must_not_be_is_refused_and_changes_nothing(
    speaker: Speaker, name: str, arguments: Mapping[str, Any], code: str
) -> None:
    before = [snapshot(root) for root in speaker.roots]
    assert await speaker.code(name, **arguments) == code
    assert [snapshot(root) for root in speaker.roots] == before


async def test_a_failure_names_the_path_that_was_given_and_only_tools_that_there_are(speaker: Speaker) -> None:
    seen = await speaker.shown("read_text_file", path="{1}/nope.txt")
    assert f"path: {speaker.roots[1]}/nope.txt" in seen.text.splitlines()
    seen = await speaker.shown("move_file", source="{0}/a.txt", destination="{0}/crlf.txt")
    assert f"path: {speaker.roots[0]}/crlf.txt" in seen.text.splitlines()
    for arguments in ({"path": "{0}/nope"}, {"path": "/x"}, {"path": "{0}/a.txt", "content": ""}):
        text = (await speaker.shown("write_file" if "content" in arguments else "read_file", **arguments)).text
        named = set(re.findall(r"\b[a-z]+_[a-z_]+\b", text.partition("hint: ")[2].partition("\n")[0]))
        assert named <= set(TOOLS)


async def test_a_path_that_is_too_long_is_not_repeated(speaker: Speaker) -> None:
    seen = await speaker.shown("list_directory", path="{0}/" + "x" * 100_000)
    assert seen.text.startswith("PATH_TOO_LONG")
    assert len(seen.text) < 5_000


async def test_paths_of_every_root_and_relative_to_the_first_are_read(speaker: Speaker) -> None:
    assert await speaker.text("read_text_file", path="{0}/a.txt") == "one\ntwo\n"
    assert await speaker.text("read_text_file", path="{1}/b.txt") == "b\n"
    assert await speaker.text("read_text_file", path="src/app.py", head=1) == "same"
    assert await speaker.text("read_text_file", path="{0}/part/up", tail=1.0) == "two\n"
    listed = "\n".join(["Allowed directories:", *map(str, speaker.roots)])
    assert await speaker.text("list_allowed_directories") == listed


async def test_a_path_that_begins_with_a_tilde_is_one_below_home(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(places[0].parent))
    async with filetools.open(places[0], settings=SETTINGS) as files:
        speaker = Speaker(MCP_FILESYSTEM.registry(files), places)
        assert await speaker.text("read_text_file", path="~/first/a.txt") == "one\ntwo\n"
        assert await speaker.code("read_text_file", path="~/second/b.txt") == "ABSOLUTE_PATH"
        assert await speaker.code("read_text_file", path="~x/a.txt") == "FILE_NOT_FOUND"


async def test_several_files_are_read_at_once_and_one_that_fails_stops_none(speaker: Speaker) -> None:
    text = await speaker.text("read_multiple_files", paths=["{0}/a.txt", "nope", "{1}/b.txt"])
    first, second = speaker.roots
    assert text.split("\n---\n") == [
        f"{first}/a.txt:\none\ntwo\n\n",
        "nope: Error - FILE_NOT_FOUND: File not found: nope",
        f"{second}/b.txt:\nb\n\n",
    ]


async def test_bytes_that_are_no_picture_are_embedded(speaker: Speaker) -> None:
    seen = await speaker.shown("read_media_file", path="{0}/bin")
    blob = base64.b64encode(BINARY).decode()
    uri = f"file://{speaker.roots[0]}/bin"
    resource = {"uri": uri, "mimeType": "application/octet-stream", "blob": blob}
    assert seen.structured == {"content": [{"type": "resource", "resource": resource}]}
    assert seen.media is not None
    assert (seen.text, seen.media.kind, seen.media.data, seen.media.uri) == ("", "bytes", blob, uri)


async def test_a_file_over_the_limit_is_read_in_part_only(places: tuple[Path, Path]) -> None:
    (places[0] / "large.txt").write_text("line\n" * 100)
    async with filetools.open(places[0], settings={**SETTINGS, "max_read_bytes": 100}) as files:
        speaker = Speaker(MCP_FILESYSTEM.registry(files), places)
        assert await speaker.code("read_text_file", path="{0}/large.txt") == "FILE_TOO_LARGE"
        assert await speaker.code("read_media_file", path="{0}/large.txt") == "FILE_TOO_LARGE"
        assert await speaker.text("read_text_file", path="{0}/large.txt", tail=2) == "line\nline\n"


async def test_an_edit_changes_the_bytes_it_names_and_shows_the_diff(speaker: Speaker) -> None:
    edits = [{"oldText": "one\ntwo", "newText": "eins\nzwei"}]
    planned = await speaker.text("edit_file", path="{0}/crlf.txt", edits=edits, dryRun=True)
    assert (speaker.roots[0] / "crlf.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert await speaker.text("edit_file", path="{0}/crlf.txt", edits=edits) == planned
    assert (speaker.roots[0] / "crlf.txt").read_bytes() == b"eins\r\nzwei\r\n"
    await speaker.text("edit_file", path="{0}/latin.txt", edits=[{"old_text": "plain", "new_text": "é"}])
    assert (speaker.roots[0] / "latin.txt").read_bytes() == b"caf\xe9\n\xe9\n"


async def test_a_replaced_file_must_have_been_read_whole(speaker: Speaker) -> None:
    await speaker.text("read_text_file", path="{0}/a.txt", head=1)
    assert await speaker.code("write_file", path="{0}/a.txt", content="x") == "VERSION_MISMATCH"
    assert not (await speaker.shown("read_media_file", path="{0}/a.txt")).is_error
    assert await speaker.code("write_file", path="{0}/a.txt", content="x") == "VERSION_MISMATCH"
    await speaker.text("read_multiple_files", paths=["{0}/a.txt"])
    told = await speaker.text("write_file", path="{0}/a.txt", content="one\nzwei\n")
    assert told == f"Successfully wrote to {speaker.roots[0]}/a.txt"


async def test_another_session_has_to_read_for_itself_and_stale_texts_are_merged(places: tuple[Path, Path]) -> None:
    path = places[0] / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    async with filetools.open(places[0], settings=SETTINGS) as files:
        alice, bob = (Speaker(MCP_FILESYSTEM.registry(files.for_actor(who)), places) for who in (ALICE, BOB))
        await alice.text("read_text_file", path="{0}/a.txt")
        assert await bob.code("write_file", path="{0}/a.txt", content="") == "VERSION_MISMATCH"
        await bob.text("read_text_file", path="{0}/a.txt")
        await bob.text("write_file", path="{0}/a.txt", content="one\ntwo\ndrei\n")
        seen = await alice.shown("write_file", path="{0}/a.txt", content="eins\ntwo\nthree\n")
        assert not seen.is_error
        assert "MERGED" in "".join(seen.notes)
        assert path.read_text() == "eins\ntwo\ndrei\n"
        assert await bob.code("write_file", path="{0}/a.txt", content="uno\ntwo\ndrei\n") == "EDIT_CONFLICT"
        assert path.read_text() == "eins\ntwo\ndrei\n"


async def test_what_others_have_changed_is_told_in_a_block_of_its_own(places: tuple[Path, Path]) -> None:
    async with filetools.open(places[0], settings=SETTINGS) as files:
        alice = Speaker(MCP_FILESYSTEM.registry(files.for_actor(ALICE)), places)
        await alice.text("read_text_file", path="{0}/a.txt")
        await files.for_actor(BOB).edit_file("a.txt", [filetools.Edit(old="one", new="1")])
        seen = await alice.shown("read_text_file", path="{0}/src/app.py")
    assert seen.text == "same\nsame\n"
    assert seen.structured == {"content": "same\nsame\n"}
    [note] = seen.notes
    assert note.startswith(f"changed since you saw it: {places[0]}/a.txt by agent bob")


async def test_folders_are_listed_whole_without_the_state(speaker: Speaker) -> None:
    rows = (await speaker.text("list_directory", path="{0}")).splitlines()
    assert rows == [
        "[DIR] .git", "[FILE] a.txt", "[FILE] bin", "[FILE] crlf.txt", "[DIR] empty", "[FILE] latin.txt", "[FILE] out",
        "[DIR] part", "[DIR] src",
    ]  # fmt: skip
    tree = json.loads(await speaker.text("directory_tree", path="{0}", excludePatterns=["", "src", "*.txt"]))
    assert [row["name"] for row in tree] == [".git", "bin", "empty", "out", "part"]
    assert tree[0]["children"] == [{"name": "config", "type": "file"}]
    assert tree[2]["children"] == []


async def test_a_tree_of_many_pages_is_searched_whole(speaker: Speaker) -> None:
    grow(speaker.roots[0], {f"many/{number % 7}/{number}.log": b"" for number in range(2_500)})
    found = (await speaker.text("search_files", path="{0}", pattern="**/*.log")).splitlines()
    assert len(set(found)) == 2_500
    below = (await speaker.text("search_files", path="{0}/many", pattern="3/*.log")).splitlines()
    assert {path.rpartition("/")[0] for path in below} == {f"{speaker.roots[0]}/many/3"}
    assert await speaker.text("search_files", path="{1}", pattern="*.log") == "No matches found"


async def test_a_part_of_a_workspace_is_left_neither_by_name_nor_by_a_link(places: tuple[Path, Path]) -> None:
    async with filetools.open(places[0], settings=SETTINGS) as files:
        part = Root(files=files.for_actor(ALICE), spellings=(f"{places[0]}/part",), base="part")
        speaker = Speaker(MCP_FILESYSTEM.registry(Roots([part])), places)
        assert await speaker.code("read_text_file", path="{0}/a.txt") == "ABSOLUTE_PATH"
        assert await speaker.code("read_text_file", path="{0}/part/../a.txt") == "PATH_TRAVERSAL"
        assert await speaker.code("read_text_file", path="{0}/part/up") == "SYMLINK_ESCAPE"
        assert await speaker.code("move_file", source="in.txt", destination="{0}/in.txt") == "ABSOLUTE_PATH"
        assert await speaker.text("read_text_file", path="in.txt") == "in\n"
        assert await speaker.text("list_directory", path=".") == "[FILE] in.txt\n[FILE] up"
        assert await speaker.text("search_files", path="{0}/part", pattern="*") == f"{places[0]}/part/in.txt"
        sizes = await speaker.text("list_directory_with_sizes", path="{0}/part")
        assert [line.split() for line in sizes.splitlines()[:2]] == [
            ["[FILE]", "in.txt", "3", "B"],
            ["[FILE]", "up", "0", "B"],
        ]


async def test_times_are_told_as_javascript_prints_them(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(speaker.roots[0] / "a.txt", (1_700_000_000, 1_700_000_000))
    for zone, told in (
        ("UTC0", "22:13:20 GMT+0000 (Coordinated Universal Time)"),
        ("CET-1", "23:13:20 GMT+0100 (CET)"),
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        rows = (await speaker.text("get_file_info", path="{0}/a.txt")).splitlines()
        assert rows[2] == f"modified: Tue Nov 14 2023 {told}"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.00 KB"), (1152, "1.12 KB"), (1_048_575, "1024.00 KB"),
        (1_048_576, "1.00 MB"), (5 * 1024**3, "5.00 GB"), (3 * 1024**5, "3072.00 TB"),
    ],
)  # fmt: skip
def test_sizes_are_told_as_people_read_them(size: int, text: str) -> None:
    assert format_size(size) == text


async def test_below_a_linked_folder_paths_are_those_that_lead_there(places: tuple[Path, Path]) -> None:
    first, _ = places
    grow(first, {"real/folder/in.txt": b"in\n", "real/folder/sub/deep.txt": b"deep\n"})
    (first / "short").symlink_to("real/folder")
    async with filetools.open(first, settings=SETTINGS) as files:
        speaker = Speaker(MCP_FILESYSTEM.registry(files), (first,))
        assert await speaker.text("list_directory", path="{0}/short") == "[FILE] in.txt\n[DIR] sub"
        found = await speaker.text("search_files", path="{0}/short", pattern="**/*.txt")
        assert found.splitlines() == [f"{first}/real/folder/in.txt", f"{first}/real/folder/sub/deep.txt"]
        assert [await speaker.text("read_text_file", path=each) for each in found.splitlines()] == ["in\n", "deep\n"]
        tree = json.loads(await speaker.text("directory_tree", path="{0}/short"))
        assert [each["name"] for each in tree] == ["in.txt", "sub"]
        assert tree[1]["children"] == [{"name": "deep.txt", "type": "file"}]


async def test_a_number_of_lines_must_be_whole_and_finite(speaker: Speaker) -> None:
    for count in (-1, 1.5, float("inf"), float("nan")):
        assert await speaker.code("read_text_file", path="{0}/a.txt", head=count) == "INVALID_ARGUMENT"
    assert await speaker.text("read_text_file", path="{0}/a.txt", head=1.0) == "one"


async def test_a_composed_name_finds_what_is_decomposed_on_the_disk(places: tuple[Path, Path]) -> None:
    first, _ = places
    composed, decomposed = "für/ä.txt", "fu\u0308r/a\u0308.txt"
    grow(first, {decomposed: b"found\n"})
    async with filetools.open(first, settings=SETTINGS) as files:
        speaker = Speaker(MCP_FILESYSTEM.registry(files), (first,))
        assert await speaker.text("read_text_file", path=f"{{0}}/{composed}") == "found\n"
        await speaker.text("write_file", path=f"{{0}}/{composed}", content="changed\n")
        await speaker.text("write_file", path="{0}/für/ö.txt", content="new\n")
        assert sorted(each.name for each in first.rglob("*.txt") if "u\u0308r" in each.parent.name) == [
            "a\u0308.txt", "ö.txt",
        ]  # fmt: skip
        assert (first / decomposed).read_text() == "changed\n"
        for name in ("a\u0323\u0302.txt", "\u00e2\u0323.txt"):
            (first / name).touch()
        assert await speaker.code("read_text_file", path="{0}/\u1ead.txt") == "INVALID_ARGUMENT"
