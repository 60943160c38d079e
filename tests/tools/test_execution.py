"""Calls that name their tool: what is refused, what is told of a crash, and how often a parsing run may ask."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import filetools
from filetools.errors import InternalError, RateLimitedError
from filetools.tools.arguments import NoParameters
from filetools.tools.execution import MOST_A_MINUTE, MOST_A_RUN, RUN_SECONDS, ParsingRuns, execute
from filetools.tools.registry import ToolRegistry
from filetools.tools.tool import Tool, ToolContext
from tests.support.clocks import Clock


async def crash(_context: ToolContext, _parameters: NoParameters) -> dict[str, Any]:
    raise ZeroDivisionError("secret")


async def break_down(_context: ToolContext, _parameters: NoParameters) -> dict[str, Any]:
    raise InternalError("secret", details={"place": "secret"})


async def tell(_context: ToolContext, _parameters: NoParameters) -> dict[str, Any]:
    return {"told": True}


def tool(name: str, handler: Any, group: str = "context") -> Tool[NoParameters]:
    return Tool(name=name, description=name, parameters=NoParameters, handler=handler, group=group, effect="read")


TOOLS = (tool("crash", crash), tool("break_down", break_down), tool("tell", tell), tool("read", tell, "core"))


async def executed(root: Path, *requests: object, runs: ParsingRuns | None = None) -> list[dict[str, Any]]:
    """Execute requests one after another."""
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        registry = ToolRegistry(files, TOOLS)
        return [await execute(registry, request, runs=runs) for request in requests]


async def test_an_unknown_tool_is_told_in_these_words(tmp_path: Path) -> None:
    [named, counted] = await executed(
        tmp_path, {"tool": "x", "input": {}}, {"tool": "x", "parsing_run": "r"}, runs=ParsingRuns()
    )
    assert (named["success"], named["error"], named["error_code"]) == (False, "Unknown tool: x", "UNKNOWN_TOOL")
    assert counted == named


@pytest.mark.parametrize(
    "request_",
    [None, 5, [], "tell", {}, {"tool": 5}, {"tool": None}, {"tool": "tell", "input": []}, {"tool": "tell", "input": "{"},
     {"tool": "tell", "inputs": {}}, {"tool": "tell", "parsing_run": ""}, {"tool": "tell", "parsing_run": 1},
     {"tool": "tell", "parsing_run": "x" * 121}],
)  # fmt: skip
async def test_what_is_no_call_is_refused(tmp_path: Path, request_: object) -> None:
    [refused] = await executed(tmp_path, request_)
    assert (refused["success"], refused["error_code"]) == (False, "INVALID_ARGUMENT")
    assert re.search("Arguments: expected an object|arameter '(tool|inputs?|parsing_run)'", refused["error"])


@pytest.mark.parametrize("name", ["crash", "break_down"])
async def test_a_crash_is_told_without_its_details(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "filetools")
    [crashed] = await executed(tmp_path, {"tool": name})
    assert (crashed["success"], crashed["error"], crashed["error_code"]) == (False, "Tool execution failed", "INTERNAL")
    assert "secret" not in str(crashed)
    assert "secret" in caplog.text


async def test_a_run_may_call_thirty_times(tmp_path: Path) -> None:
    clock = Clock()
    runs = ParsingRuns(clock)
    call, other = {"tool": "tell", "parsing_run": "r"}, {"tool": "tell", "parsing_run": "s"}
    *let, refused, elsewhere, unnamed, core = await executed(
        tmp_path, *[call] * (MOST_A_RUN + 1), other, {"tool": "tell"}, call | {"tool": "read"}, runs=runs
    )
    assert [each["success"] for each in (*let, elsewhere, unnamed, core)] == [True] * (MOST_A_RUN + 3)
    assert refused == {
        "success": False,
        "error": "A parsing run may call tools for context 30 times in 600 s; wait 600 s",
        "error_code": "RATE_LIMITED",
        "retryable": True,
        "suggested_action": "Wait 600 s and retry",
        "details": {"wait_seconds": 600},
        "attempts": 1,
    }


def test_a_run_may_call_again_when_its_oldest_call_is_ten_minutes_old() -> None:
    clock = Clock()
    runs = ParsingRuns(clock)
    for _ in range(MOST_A_RUN):
        clock.now += 10
        runs.count("r")
    clock.now += RUN_SECONDS - 10 * (MOST_A_RUN - 1) - 0.5
    with pytest.raises(RateLimitedError, match="wait 1 s"):
        runs.count("r")
    clock.now += 0.5
    runs.count("r")


def test_all_runs_together_may_call_so_often_a_minute() -> None:
    clock = Clock()
    runs = ParsingRuns(clock)
    for number in range(MOST_A_MINUTE):
        clock.now += 0.25
        runs.count(f"r{number}")
    with pytest.raises(RateLimitedError) as refused:
        runs.count("new")
    assert refused.value.message == "All parsing runs together may call tools for context 120 times in 60 s; wait 31 s"
    assert (refused.value.details, refused.value.retryable) == ({"wait_seconds": 31}, True)
    clock.now += 31
    runs.count("new")


@given(st.lists(st.tuples(st.floats(0, 700), st.integers(0, 2000)), max_size=300))
def test_what_is_let_through_keeps_both_limits(calls: list[tuple[float, int]]) -> None:
    """And waiting as long as is told is enough."""
    clock = Clock()
    runs = ParsingRuns(clock)
    let: list[tuple[float, int]] = []
    for pause, run in calls:
        clock.now += pause if run % 10 == 0 else 0
        try:
            runs.count(str(run % 7))
        except RateLimitedError as refused:
            clock.now += refused.details["wait_seconds"]
            runs.count(str(run % 7))
        let.append((clock.now, run % 7))
        assert sum(moment > clock.now - 60 for moment, _ in let) <= MOST_A_MINUTE
