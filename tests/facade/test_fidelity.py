"""Bytes that a call was not asked to change are kept, through the facade and on a real disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import fidelity, fidelity_attributes
from tests.support.fidelity import COLUMNS, OPERATIONS
from tests.support.fidelity_attributes import ATTRIBUTES


@pytest.mark.parametrize("encoding", COLUMNS)
async def test_bytes_outside_the_touched_span_stay(tmp_path: Path, encoding: str) -> None:
    assert await fidelity.failures(tmp_path, encoding, OPERATIONS) == []


@pytest.mark.parametrize("encoding", COLUMNS)
async def test_a_character_the_encoding_lacks_is_named_and_nothing_written(tmp_path: Path, encoding: str) -> None:
    assert await fidelity.accepted(tmp_path, encoding) == []


@pytest.mark.parametrize("name", ATTRIBUTES)
async def test_attributes_of_a_file_are_kept(tmp_path: Path, name: str) -> None:
    if not fidelity_attributes.is_supported(tmp_path):
        pytest.skip("needs root, and a disk with extended attributes and access lists")
    found = await fidelity_attributes.verdicts(tmp_path, name, OPERATIONS)
    assert found == {operation: fidelity_attributes.wanted(operation, name) for operation in OPERATIONS}


async def test_a_lost_attribute_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is worthless if it always passes."""

    async def replaced(case: fidelity.Case, _new: str) -> bool:
        case.place.unlink()
        case.place.write_bytes(case.column.bytes_of(case.new_text))
        return True

    monkeypatch.setitem(OPERATIONS, "`edit_file`", replaced)
    assert await fidelity_attributes.verdicts(tmp_path, "mode", ["`edit_file`"]) == {"`edit_file`": "lost"}


async def test_a_rewritten_byte_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def rewritten(case: fidelity.Case, _new: str) -> bool:
        case.place.write_bytes(case.new_text.encode("utf-8", "replace"))
        return case.holds(case.new_text)

    monkeypatch.setitem(OPERATIONS, "`edit_file`", rewritten)
    assert len(await fidelity.failures(tmp_path, "Latin-1", ["`edit_file`"])) == len(fidelity.VARIANTS)
