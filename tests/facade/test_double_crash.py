"""A process dies in the middle of a change, and the next one in the middle of recovering it; the third finds old or new."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from tests.facade.test_crash_points import BEFORE, CASES, DOSE, reopened, with_empty_parents
from tests.support.crashing import QUIET, CrashingOpening, Tree, count_calls, die_at, grow, leftovers, moments_of
from tests.support.faulty import EXIT_CODE, Call, Moment, Plan

Death = tuple[int, Moment]

FIRST_DEATHS = 2 * DOSE
"""Moments of the first death that are tried for each case, by default; all of them from about FILETOOLS_DOSE=20 on."""
SECOND_DEATHS = 4 * DOSE
SEED = int(os.environ.get("FILETOOLS_SEED", "20261120"))
ROUND = {**QUIET, "sync_after_seconds": 0.005}
"""A keeper that goes through its rounds at once."""


async def nothing(_files: object) -> None:
    """Only open, recover and close."""


class RecoveringOpening(CrashingOpening):
    """Opens a root as `CrashingOpening`, with a keeper that is at work."""

    def __init__(self, root: Path, plan: Plan) -> None:
        super().__init__(root, plan)
        self._given = ROUND


def recovery_calls(root: Path) -> list[Call]:
    """Open a root, let the keeper settle and sweep, and return the calls made meanwhile."""
    plan = Plan.record()

    async def main() -> None:
        async with RecoveringOpening(root, plan) as files:
            await settled(files)

    asyncio.run(main())
    return plan.calls


async def settled(files: object) -> None:
    parts = files._parts  # type: ignore[attr-defined]
    for _ in range(6000):
        if not parts.journal.marks.pending() and not leftovers(parts.workspace.root):
            return
        await asyncio.sleep(0.005)


def die_recovering(root: Path, plan: Plan) -> None:
    """Recover in a child that dies as planned."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 1
        try:

            async def main() -> None:
                async with RecoveringOpening(root, plan) as files:
                    await settled(files)
                    os._exit(EXIT_CODE)

            asyncio.run(main())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == EXIT_CODE


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_in_the_recovery_of_a_death_everything_is_old_or_new(name: str, tmp_path: Path) -> None:
    action, wanted = CASES[name]
    chance = random.Random(f"{SEED} {name}")
    grow(tmp_path / "model", BEFORE)
    first = sampled(moments_of(count_calls(tmp_path / "model", action).calls), FIRST_DEATHS, chance)
    for number, (at, moment) in enumerate(first):
        died = tmp_path / f"died{number}"
        grow(died, BEFORE)
        acknowledged = die_at(died, action, Plan.die(at, moment, exits=True))
        check_second_deaths(died, [wanted] if acknowledged else with_empty_parents(wanted), (at, moment), chance)
        shutil.rmtree(died)


def check_second_deaths(died: Path, allowed: list[Tree], first: Death, chance: random.Random) -> None:
    model = copied(died, "model")
    second = sampled(moments_of(recovery_calls(model)), SECOND_DEATHS, chance)
    for at, moment in second:
        root = copied(died, f"{at}-{moment}")
        die_recovering(root, Plan.die(at, moment, exits=True))
        found = reopened(root)
        assert found in allowed, (first, at, moment, SEED)
        assert leftovers(root) == [], (first, at, moment, SEED)
        shutil.rmtree(root)
    shutil.rmtree(model)


def sampled(moments: list[Death], count: int, chance: random.Random) -> list[Death]:
    return moments if len(moments) <= count else sorted(chance.sample(moments, count))


def copied(root: Path, name: str) -> Path:
    """Return a copy of a root as the dead left it, hard links and times aside."""
    target = root.with_name(f"{root.name}-{name}")
    shutil.copytree(root, target, symlinks=True)
    return target
