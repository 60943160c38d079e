from __future__ import annotations

from pathlib import Path

import pytest

import filetools
from tests.support.facade_worker import RELAXED


async def test_a_missing_file_is_refused_before_the_first_chunk(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        with pytest.raises(filetools.FileToolsError) as caught:
            await anext(files.stream_file("missing"))
        assert caught.value.code == "FILE_NOT_FOUND"


async def test_a_negative_offset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        with pytest.raises(filetools.FileToolsError) as caught:
            await anext(files.stream_file("a", offset=-1))
        assert caught.value.code == "INVALID_ARGUMENT"


async def test_a_range_comes_in_chunks_byte_for_byte(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(content)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        chunks = [chunk async for chunk in files.stream_file("a", offset=3, count=1_000_000)]
    assert b"".join(chunks) == content[3:1_000_003]
    assert max(map(len, chunks)) <= 256 * 1024


async def test_a_replacement_meanwhile_leaves_the_stream_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1" * 1_000_000)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        stream = files.stream_file("a")
        first = await anext(stream)
        await files.write_file("a", "2" * 1_000_000)
        rest = [chunk async for chunk in stream]
    assert first + b"".join(rest) == b"1" * 1_000_000


async def test_a_write_into_the_file_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1" * 1_000_000)
    async with filetools.open(tmp_path, settings=RELAXED) as files:
        stream = files.stream_file("a")
        await anext(stream)
        with (tmp_path / "a").open("r+b") as file:
            file.write(b"2")
        with pytest.raises(filetools.FileToolsError) as caught:
            [chunk async for chunk in stream]
        assert caught.value.code == "CHANGED_MEANWHILE"
