"""Runs a program that may mount, in a mount namespace of its own; its arguments follow. To be `forked`."""

from __future__ import annotations

import ctypes
import subprocess
import sys

NEW_MOUNTS = 0x20000
"""CLONE_NEWNS of sched.h; Python has no name for it before 3.12."""

if __name__ == "__main__":
    _, program, *sys.argv = sys.argv
    sys.argv.insert(0, "-c")
    if (
        ctypes.CDLL(None).unshare(NEW_MOUNTS)
        or subprocess.run(["mount", "--make-rprivate", "/"], check=False).returncode
    ):
        sys.exit("unshare failed")
    exec(program, {"__name__": "__main__"})
