"""Searching contents through the facade: unsaved documents, refusals, cancellation, and a responsive loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

import filetools
from filetools.errors import ApprovalRequiredError, ToolBlockedError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepResult
from filetools.permissions.policy import Rule
from filetools.search.contents.pattern import Pattern
from tests.support.crashing import QUIET, grow
from tests.support.opened import refused
from tests.support.people import ALICE, EDITOR
from tests.support.unprivileged import as_nobody

ACTOR = ALICE
BEFORE = {"a.txt": b"first\nsaved\n", "b.txt": b"saved\n"}


def facts(result: GrepResult) -> list[tuple[str, int, str, str]]:
    return [(match.path, match.line, match.text, match.origin) for match in result.matches]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"pattern": "("}, "INVALID_ARGUMENT"),
        ({"pattern": "a", "path": ".filetools"}, "PERMISSION_DENIED"),
        ({"pattern": "a", "path": "../x"}, "PATH_TRAVERSAL"),
        ({"pattern": "a", "path": "nowhere"}, "FILE_NOT_FOUND"),
        ({"pattern": "a", "cursor": "nonsense"}, "INVALID_ARGUMENT"),
        ({"pattern": "a", "abort": lambda: True}, "ABORTED"),
    ],
)
async def test_a_search_refuses(files: FileToolsFacade, options: dict[str, Any], code: str) -> None:
    await refused(code, files.grep_files(**options))


@pytest.mark.parametrize("level", ["block", "prompt"])
@pytest.mark.parametrize("tool", ["read_file", "grep_files", "*"])
async def test_what_an_actor_must_not_read_is_not_found(
    files: FileToolsFacade, tool: str, level: Literal["block", "prompt"]
) -> None:
    editor = files.for_actor(EDITOR)
    opened = await editor.buffers.open("b.txt")
    await editor.buffers.change(opened.handle, buffer_version=opened.buffer_version, text="saved, perhaps\n")
    files._parts.gatekeeper.policy.use("allow", [Rule(tool=tool, path="b.txt", level=level)])
    assert facts(await files.grep_files("saved")) == [("a.txt", 2, "saved", "disk")]
    assert [match.path for match in (await editor.grep_files("saved")).matches] == ["a.txt", "b.txt"]
    with pytest.raises((ToolBlockedError, ApprovalRequiredError)):
        await files.read_file("b.txt") if tool != "grep_files" else await files.grep_files("saved", path="b.txt")


async def test_unsaved_text_is_found_and_removed_text_is_not(files: FileToolsFacade) -> None:
    buffers = files.for_actor(EDITOR).buffers
    opened = await buffers.open("a.txt")
    assert facts(await files.grep_files("saved")) == [("a.txt", 2, "saved", "disk"), ("b.txt", 1, "saved", "disk")]
    await buffers.change(opened.handle, buffer_version=opened.buffer_version, text="first\ntyped, not saved\n")
    assert facts(await files.grep_files("saved")) == [
        ("a.txt", 2, "typed, not saved", "buffer"), ("b.txt", 1, "saved", "disk"),
    ]  # fmt: skip
    assert facts(await files.grep_files("^saved", path="a.txt")) == []
    await buffers.save(opened.handle)
    assert facts(await files.grep_files("typed")) == [("a.txt", 2, "typed, not saved", "disk")]


async def test_unsaved_text_of_a_file_that_is_gone_is_found(files: FileToolsFacade, tmp_path: Path) -> None:
    buffers = files.for_actor(EDITOR).buffers
    opened = await buffers.open("a.txt")
    await buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed\n")
    (tmp_path / "a.txt").unlink()
    assert facts(await files.grep_files("typed")) == [("a.txt", 1, "typed", "buffer")]


async def test_unsaved_text_of_another_process_is_found(files: FileToolsFacade, tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as other:
        buffers = other.for_actor(EDITOR).buffers
        opened = await buffers.open("b.txt")
        await buffers.change(opened.handle, buffer_version=opened.buffer_version, text="typed elsewhere\n")
        assert facts(await files.grep_files("typed")) == [("b.txt", 1, "typed elsewhere", "buffer")]


async def test_a_cancelled_search_ends_its_thread_soon(
    files: FileToolsFacade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("filetools.search.contents.pattern.FILE_SECONDS", 0.5)
    monkeypatch.setattr(Pattern.find, "__kwdefaults__", {**(Pattern.find.__kwdefaults__ or {}), "seconds": 0.5})
    (tmp_path / "evil").write_text("a" * 20_000 + "!\n")
    search = asyncio.create_task(files.grep_files("(a+)+$", path="evil"))
    await asyncio.sleep(0.05)
    search.cancel()
    ended, _ = await asyncio.wait([search], timeout=60)
    assert ended == {search}
    assert search.cancelled()


@pytest.mark.parametrize(("pattern", "lines"), [(r"\w+ \w+ \w+ \w+ \w+ \w+", 20_000), ("WOR[a-c]", 250_000)])
async def test_the_loop_stays_responsive_while_megabytes_are_searched(
    files: FileToolsFacade, tmp_path: Path, pattern: str, lines: int
) -> None:
    (tmp_path / "large").write_text("word after word 0a1b2c3d without\n" * lines)
    search = asyncio.create_task(files.grep_files(pattern, ignore_case=True))
    turns = 0
    while not search.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await search).total == 0
    # Iterations of the loop, not seconds: a loop blocked for the whole search makes two.
    assert turns > 5


@pytest.mark.parametrize("pattern", ["needle", "n[e]+dle"])
def test_unreadable_files_are_counted_and_reported(tmp_path: Path, pattern: str) -> None:
    async def main() -> None:
        async with filetools.open(tmp_path, settings=QUIET) as files:
            found = await files.grep_files(pattern)
            assert [match.path for match in found.matches] == ["ok"]
            assert not found.total_is_complete
            assert [warning["code"] for warning in found.warnings] == ["PERMISSION_DENIED"] * 3
            assert all(any(name in each["message"] for each in found.warnings) for name in ("closed", "deep", "denied"))
            counted = await files.grep_files(pattern, output_mode="count")
            assert (counted.total, counted.total_is_complete, len(counted.warnings)) == (1, False, 3)
            alone = await files.grep_files(pattern, path="denied")
            assert (alone.matches, alone.total_is_complete, len(alone.warnings)) == ([], False, 1)
            assert (await files.grep_files(pattern, path="ok")).total_is_complete
            names = await files.search_files("*", limit=1000)
            assert not names.total_is_complete

    grow(tmp_path, dict.fromkeys(("ok", "denied", "closed/y", "open/deep/y", "open/x"), b"needle\n"))
    for name in ("denied", "closed", "open/deep"):
        (tmp_path / name).chmod(0)
    (tmp_path / "open" / "x").write_text("nothing\n")
    try:
        as_nobody(tmp_path, lambda: asyncio.run(main()))
    finally:
        for name in ("closed", "open/deep"):
            (tmp_path / name).chmod(0o700)
