"""Agents, editors and a foreign program work on one root through all doors at once, and nothing is lost.

Each door is a process of its own. `FILETOOLS_DOSE=10` (make long) runs ten times as many scenes; a failure prints its seed
and what each party was told.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import filetools
from tests.support.dose import dose
from tests.support.opened import assert_at_rest

if find_spec("fastapi") is None or find_spec("mcp") is None:
    pytest.skip("the doors need their extras", allow_module_level=True)

from tests.support.together.doors import opened_doors
from tests.support.together.running import run

SCENES = dose(3)


@pytest.mark.timeout(900)
async def test_nothing_is_lost_through_all_doors_at_once(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    async with opened_doors(root) as doors:
        for seed in range(SCENES):
            faults = await run(doors, seed)
            assert not faults, "\n".join(faults)
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        await assert_at_rest(files, root)
