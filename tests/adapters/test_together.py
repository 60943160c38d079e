"""Two agents edit one file at once, each by its framework's own edit tool: nobody's edit is lost, and none fails."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.framework_agents import (
    AGENTS,
    EDITS_AT_ONCE,
    MODULES,
    OURS,
    ROUNDS,
    in_one_process,
    in_two_processes,
)

ALL = {"edits": ROUNDS * EDITS_AT_ONCE * len(AGENTS), "lost": 0, "refused": 0}


@pytest.fixture(params=OURS)
def framework(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"{name} is not installed")
    return name


async def test_no_edit_is_lost_in_one_process(framework: str, tmp_path: Path) -> None:
    assert await in_one_process("ours", framework, tmp_path) == ALL


async def test_no_edit_is_lost_in_two_processes(framework: str, tmp_path: Path) -> None:
    assert await in_two_processes("ours", framework, tmp_path) == ALL


async def test_a_layer_that_only_moves_bytes_loses_edits_or_fails(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core")
    assert await in_one_process("own", "langchain", tmp_path) != ALL
