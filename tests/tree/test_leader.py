"""One process of a root listens, and another takes over when it ends in whatever way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from filetools.tree.leader import Leadership

LEADS = """
import sys
from pathlib import Path
from filetools.tree.leader import Leadership
leadership = Leadership(Path(sys.argv[1]), "lock")
print(leadership.try_lead(), flush=True)
sys.stdin.readline()
leadership.close()
print("closed", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_another_process_follows_until_the_leader_ends(tmp_path: Path, how: str) -> None:
    here = Leadership(tmp_path, "lock")
    with subprocess.Popen(
        [sys.executable, "-c", LEADS, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()},
    ) as leader:  # fmt: skip
        assert leader.stdin is not None
        assert leader.stdout is not None
        assert leader.stdout.readline() == "True\n"
        assert not here.try_lead()
        assert not here.is_leading
        if how == "closed":
            leader.stdin.write("\n")
            leader.stdin.flush()
            assert leader.stdout.readline() == "closed\n"
            assert here.try_lead()
        leader.kill()
        leader.wait()
    assert here.try_lead()
    here.close()


def test_a_follower_holds_nothing_open(tmp_path: Path) -> None:
    first, second = Leadership(tmp_path, "lock"), Leadership(tmp_path, "lock")
    assert [first.try_lead(), first.try_lead()] == [True, True]
    before = os.listdir("/proc/self/fd") if sys.platform == "linux" else []
    assert not second.try_lead()
    assert (os.listdir("/proc/self/fd") if sys.platform == "linux" else []) == before
    first.close()
    first.close()
    assert second.try_lead()
    second.close()


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        Leadership(tmp_path, "lock").try_lead()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_keep_the_lead(tmp_path: Path) -> None:
    first, second = Leadership(tmp_path, "lock"), Leadership(tmp_path, "lock")
    assert first.try_lead()
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(said, b"x")
        signal.pause()
    os.read(heard, 1)
    assert not second.try_lead()
    first.close()
    try:
        assert second.try_lead()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(heard)
        os.close(said)
        second.close()
