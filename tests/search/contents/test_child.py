from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest

from filetools.errors import AbortedError
from filetools.search.contents.child import MatchingProcess


def children() -> set[int]:
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text(encoding="ascii").split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_a_search_that_is_stopped_while_its_process_starts_leaves_none_behind() -> None:
    before, threads = children(), threading.active_count()
    with pytest.raises(AbortedError):
        MatchingProcess("(a+)+$" + "|b" * 200_000, 0, limit_seconds=5, abort=lambda: True)
    gc.collect()
    assert (children(), threading.active_count()) == (before, threads)
