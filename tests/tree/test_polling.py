"""Looks in turns, and the file systems that need them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from filetools.tree.polling import PollingTimer, reason_of, reason_to_poll
from tests.support.hinted import Sink, said_by, wait_until

IN_NAMESPACE = """
import ctypes, os, sys
from filetools.tree.polling import reason_to_poll
place, libc = sys.argv[1], ctypes.CDLL(None)
if libc.unshare(0x20000) or libc.mount(b"", b"/", None, 1 << 18 | 1 << 14, None):
    sys.exit("no mounts")
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0"
if libc.mount(b"x", place.encode(), b"fuse.x", 0, options.encode()):
    sys.exit("no mounts")
print(reason_to_poll(os.open(place, os.O_PATH)))
"""


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "fuse", "vboxsf", "ceph"])
def test_shared_file_systems_are_polled(kind: str) -> None:
    assert kind in (reason_of(kind) or "")


@pytest.mark.parametrize("kind", ["", "ext4", "btrfs", "tmpfs", "fuseblk", "fuse.fuse-overlayfs", "unheard-of"])
def test_local_and_unknown_ones_are_not(kind: str) -> None:
    assert reason_of(kind) is None


def test_a_local_folder_needs_no_polling(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert reason_to_poll(descriptor) is None
    os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
def test_a_mount_of_another_machine_is_polled(tmp_path: Path) -> None:
    said = said_by(program=IN_NAMESPACE, arguments=(tmp_path,))
    if "no mounts" in said or "/dev/fuse" in said:
        pytest.skip("mounting is not permitted here")
    assert "fuse.x" in said


def test_the_timer_hints_again_and_again_until_closed() -> None:
    sink = Sink()
    timer = PollingTimer(sink.hints, seconds=0.001)
    timer.start()
    for _ in range(3):
        sink.forget()
        wait_until(lambda: sink.has("poll"))
    timer.close()
    timer.close()
    sink.forget()
    assert (sink.reasons, timer.is_alive()) == (set(), False)
