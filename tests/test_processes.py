"""Which processes live."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from filetools.processes import is_alive, process_mark

UNTOLD = "0-0-0"


def test_a_killed_process_is_dead_before_anybody_has_waited_for_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mark = process_mark(child.pid)
    assert is_alive(child.pid, mark)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(child.pid, mark) is False
    child.communicate()
    assert is_alive(child.pid, mark) is False
    assert is_alive(child.pid, UNTOLD) is False


@pytest.mark.parametrize(("field", "expected"), [(0, False), (1, False), (2, None)], ids=["start", "boot", "space"])
def test_the_same_number_may_be_another_process(field: int, expected: bool | None) -> None:
    parts = process_mark(os.getpid()).split("-")
    if parts[field] == "0":
        pytest.skip("the system does not tell it")
    parts[field] = str(int(parts[field], 16) + 1)
    assert is_alive(os.getpid(), "-".join(parts)) is expected


def test_where_the_system_tells_no_more_any_process_of_the_number_counts() -> None:
    assert is_alive(os.getpid(), UNTOLD)
    assert is_alive(1, UNTOLD)
    assert is_alive(2**70, UNTOLD) is False
