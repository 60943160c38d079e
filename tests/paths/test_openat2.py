from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from filetools.paths.resolver import Openat2Resolver

# A filter that answers openat2 with an error number, as container sandboxes do (x86-64 and aarch64 only).
FORBID = """
import ctypes, struct, sys
number = int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
code = b"".join(struct.pack("HBBI", *line) for line in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | number), (0x06, 0, 0, 0x7FFF0000)))
buffer = ctypes.create_string_buffer(code)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(4, ctypes.addressof(buffer))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(77)
"""
USE = """
import os
from filetools.errors import InvalidArgumentError, SymlinkNotAllowedError
from filetools.paths.workspace import Workspace
workspace = Workspace.open(sys.argv[1])
assert os.read(workspace.open_file(workspace.resolve("a/file")), 10) == b"text"
assert workspace.open_file_now(workspace.resolve("a/file")) is None
try:
    workspace.open_file(workspace.resolve("link/file"))
except SymlinkNotAllowedError:
    pass
else:
    sys.exit(3)
try:
    Workspace.open(sys.argv[1], resolver="openat2")
except InvalidArgumentError:
    sys.exit(0)
sys.exit(4)
"""


@pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="the filter is for these machines")
@pytest.mark.parametrize("number", [1, 13, 38])
def test_the_walk_takes_over_where_the_call_is_forbidden(root: Path, number: int) -> None:
    (root / "a").mkdir()
    (root / "a" / "file").write_bytes(b"text")
    (root / "link").symlink_to("a")
    done = subprocess.run(
        [sys.executable, "-c", FORBID + USE, str(root), str(number)], check=False, capture_output=True
    )
    if done.returncode == 77:
        pytest.skip("system call filters are not possible here")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("path", ["../outside", "a/../../outside", "/etc/passwd", ".."])
def test_even_a_path_that_nobody_checked_stays_beneath(root: Path, path: str) -> None:
    (root / "a").mkdir()
    (root.parent / "outside").touch()
    descriptor = os.open(root, os.O_RDONLY)
    resolver = Openat2Resolver.probe(descriptor)
    assert resolver is not None
    with pytest.raises(OSError, match=r"."):
        resolver.open(descriptor, path, os.O_RDONLY)
    os.close(descriptor)
