"""Batches: refused as a whole, with the cause and the path, or applied as a whole."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.models.files import BatchResult, DeleteResult, WriteResult
from tests.support.crashing import leftovers, snapshot
from tests.support.opened import assert_at_rest, names_of, recorded, refused, told, version

BEFORE: dict[str, bytes | None] = {"a.txt": b"a", "b.txt": b"b", "d": None, "d/e.txt": b"e"}


def item(path: Any, content: Any = "x", **options: Any) -> dict[str, Any]:
    return {"path": path, "content": content, **options}


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([item("a.txt"), {"path": "b.txt"}], "INVALID_ARGUMENT"),
        ([item("a.txt"), {"content": "x"}], "INVALID_ARGUMENT"),
        ([item("a.txt"), item("b.txt", mode=0o777)], "INVALID_ARGUMENT"),
        ([item("a.txt"), item("./a.txt")], "INVALID_ARGUMENT"),
        ([item("n"), item("n/x")], "INVALID_ARGUMENT"),
        ([item("n/x/y"), item("n")], "INVALID_ARGUMENT"),
        ([item("a.txt"), item(5)], "INVALID_ARGUMENT"),
        ([item("a.txt"), item("b.txt", None)], "INVALID_ARGUMENT"),
        ([item("a.txt"), item("b.txt", newline="lf")], "INVALID_ARGUMENT"),
        ([item("a.txt"), item("../b.txt")], "PATH_TRAVERSAL"),
        ([item(f"{number}.txt") for number in range(1001)], "INVALID_ARGUMENT"),
    ],
)
async def test_a_malformed_batch_is_refused_before_anything_is_looked_at(
    files: FileToolsFacade, root: Path, items: list[dict[str, Any]], code: str
) -> None:
    await refused(code, files.write_multiple(items))
    assert (snapshot(root), await recorded(files)) == (BEFORE, [])


async def test_a_refused_batch_names_every_file_that_is_in_the_way(files: FileToolsFacade, root: Path) -> None:
    items = [item("a.txt", expected_version="0" * 64), item("b.txt"), item("d/e.txt", "ж", encoding="latin-1")]
    error = await refused("BATCH_FAILED", files.write_multiple(items))
    assert (error.path, [each["path"] for each in error.details["others"]]) == ("a.txt", ["d/e.txt"])
    assert "d/e.txt" in error.message
    assert (snapshot(root), await recorded(files)) == (BEFORE, [])


@pytest.mark.parametrize(
    ("bad", "cause", "path"),
    [
        (item("d"), "IS_A_DIRECTORY", "d"),
        (item("b.txt/x"), "NOT_A_DIRECTORY", "b.txt"),
        (item("b.txt", "ж", encoding="latin-1"), "ENCODING_ERROR", "b.txt"),
        (item("b.txt", expected_version="0" * 64), "VERSION_MISMATCH", "b.txt"),
        (item("n/x", create_parents=False), "DIR_NOT_FOUND", "n"),
        (item("b.txt", "!", encoding="base64"), "ENCODING_ERROR", "b.txt"),
    ],
)
async def test_one_refused_file_refuses_all_and_is_named_with_the_reason(
    files: FileToolsFacade, root: Path, bad: dict[str, Any], cause: str, path: str
) -> None:
    heard = told(files)
    items = [item("a.txt"), item("new/x.txt"), bad, item("c.txt")]
    error = await refused("BATCH_FAILED", files.write_multiple(items))
    assert (error.details["cause"], error.path) == (cause, path)
    assert error.message.startswith("Nothing was changed: ")
    assert (snapshot(root), heard, await recorded(files)) == (BEFORE, [], [])
    assert leftovers(root) == []


async def test_all_files_are_written_in_one_transaction(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.write_multiple(
        [item("a.txt", "A"), item("x/1.txt", "1"), item("x/y/2.txt", "2"), item("b.txt", "b")]
    )
    written = [one for one in result.results if isinstance(one, WriteResult)]
    assert result == BatchResult(
        results=[
            WriteResult(
                path="a.txt", bytes_written=1, created=False, version=version("A"), replaced_version=version("a"),
                number=written[0].number,
            ),
            WriteResult(path="x/1.txt", bytes_written=1, created=True, version=version("1"), number=written[1].number),
            WriteResult(path="x/y/2.txt", bytes_written=1, created=True, version=version("2"), number=written[2].number),
            WriteResult(path="b.txt", bytes_written=1, created=False, version=version("b"), unchanged=True),
        ],
        number=written[2].number,
    )  # fmt: skip
    assert names_of(heard) == [
        ("file:modified", "a.txt"),
        ("directory:created", "x"),
        ("file:created", "x/1.txt"),
        ("directory:created", "x/y"),
        ("file:created", "x/y/2.txt"),
    ]
    records = (await files.changes()).records
    assert len({record.transaction for record in records}) == 1
    assert snapshot(root) == {
        "a.txt": b"A", "b.txt": b"b", "d": None, "d/e.txt": b"e", "x": None, "x/1.txt": b"1", "x/y": None,
        "x/y/2.txt": b"2",
    }  # fmt: skip
    await assert_at_rest(files, root)


@pytest.mark.parametrize(
    ("paths", "code", "path"),
    [
        (["a.txt", "no.txt"], "BATCH_FAILED", "no.txt"),
        (["a.txt", "d"], "BATCH_FAILED", "d"),
        (["a.txt", "/a.txt"], "INVALID_ARGUMENT", "a.txt"),
        (["a.txt", "a.txt/x"], "INVALID_ARGUMENT", "a.txt/x"),
        (["a.txt", ".."], "PATH_TRAVERSAL", ".."),
    ],
)
async def test_one_file_that_cannot_go_keeps_all(
    files: FileToolsFacade, root: Path, paths: list[str], code: str, path: str
) -> None:
    error = await refused(code, files.delete_multiple(paths))
    assert error.path == path
    assert (snapshot(root), await recorded(files)) == (BEFORE, [])


async def test_several_files_go_together(files: FileToolsFacade, root: Path) -> None:
    result = await files.delete_multiple(["a.txt", "d/e.txt"])
    numbers = [one.number for one in result.results]
    assert result == BatchResult(
        results=[
            DeleteResult(path="a.txt", deleted_version=version("a"), number=numbers[0]),
            DeleteResult(path="d/e.txt", deleted_version=version("e"), number=numbers[1]),
        ],
        number=numbers[1],
    )
    assert snapshot(root) == {"b.txt": b"b", "d": None}
    assert (await files.read_file("a.txt", version=version("a"))).content == "a"


async def test_an_empty_batch_does_nothing(files: FileToolsFacade) -> None:
    assert await files.write_multiple([]) == BatchResult(results=[])
    assert await files.delete_multiple([]) == BatchResult(results=[])
    assert (await files.read_multiple([])).items == []


@pytest.mark.parametrize("after", [0, 3, 5, 6, 9, 10])
async def test_an_abort_is_looked_at_between_files_and_leaves_nothing(
    files: FileToolsFacade, root: Path, after: int
) -> None:
    asked, heard, percents = 0, told(files), list[int]()

    def abort() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    items = [item("a.txt", "A"), item("x/1.txt", "1"), item("b.txt", "B")]
    call = files.write_multiple(items, abort=abort, progress=percents.append)
    # Three looks, three decisions, three files prepared, one before the commit.
    if after < 10:
        await refused("ABORTED", call)
        assert (snapshot(root), heard, await recorded(files)) == (BEFORE, [], [])
    else:
        # By the last call of `abort` everything is committed; after that the call cannot be stopped.
        assert len((await call).results) == 3
        assert (root / "a.txt").read_bytes() == b"A"
        await asyncio.sleep(0)
        assert (percents, percents[-1]) == (sorted(percents), 100)
    await assert_at_rest(files, root)


async def test_progress_runs_to_a_hundred(files: FileToolsFacade) -> None:
    percents: list[int] = []
    await files.write_multiple([item(f"n{number}.txt") for number in range(4)], progress=percents.append)
    await asyncio.sleep(0)
    assert percents == sorted(percents)
    assert (percents[0], percents[-1]) == (0, 100)
    percents.clear()
    await files.read_multiple(["a.txt", "b.txt"], progress=percents.append)
    await asyncio.sleep(0)
    assert percents == [0, 50, 100]
    stopped = iter([False, True])
    await refused("ABORTED", files.read_multiple(["a.txt", "b.txt"], abort=lambda: next(stopped)))


async def test_hundreds_of_files_are_one_batch(files: FileToolsFacade, root: Path) -> None:
    result = await files.write_multiple([item(f"n/{number}.txt", str(number)) for number in range(300)])
    assert len(result.results) == 300
    assert len(os.listdir(root / "n")) == 300
    assert leftovers(root) == []
