"""How much of a harness runs: little by default, more with FILETOOLS_DOSE (a factor) and FILETOOLS_KILL_ROUNDS (a number)."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")
DOSE: Final = float(os.environ.get("FILETOOLS_DOSE", "1"))
SEED: Final = int(os.environ.get("FILETOOLS_SEED", "20261120"))


def dose(times: float) -> int:
    """Return how often a harness repeats: `times`, multiplied by FILETOOLS_DOSE, and at least once."""
    return max(1, int(times * DOSE))


def kill_rounds(default: int) -> int:
    """Return how often processes are killed."""
    return int(os.environ.get("FILETOOLS_KILL_ROUNDS", default))


def sampled(found: Sequence[T], most: int, *about: object) -> list[T]:
    """Return some of what was found, in order: at most a dose of `most`, by the seed and whatever it is about."""
    count = min(len(found), dose(most))
    chosen = sorted(random.Random(f"{SEED} {about}").sample(range(len(found)), count))
    return [found[at] for at in chosen]
