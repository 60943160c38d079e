"""A second process that exchanges names as fast as it can, and trees laid out so that an escape is seen at once.

    with Swapper(plant(tmp_path, kind, position)) as tree:
        ...use tree.root and tree.path through any interface, `dose(10_000)` times...
    tree.assert_outside_untouched()

What may be seen of `tree.path` while the swapper runs is `INSIDE` or a typed error, never `OUTSIDE`. Run as a program,
this module is the second process.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal

INSIDE: Final = b"inside the root"
OUTSIDE: Final = b"outside: nobody may see this"
FOLDERS: Final = ("one", "two", "three")
NAME: Final = "file.txt"
PATH: Final = "/".join((*FOLDERS, NAME))

Kind = Literal["absolute", "relative", "chain", "proc_root", "dangling", "plain_file", "pipe"]
KINDS: Final[tuple[Kind, ...]] = ("absolute", "relative", "chain", "proc_root", "dangling", "plain_file", "pipe")
POSITIONS: Final = range(len(FOLDERS) + 1)
"""0 to 2 exchange a folder on the way, 3 the file at the end."""
CASES: Final[tuple[tuple[Kind, int], ...]] = tuple(itertools.product(KINDS, POSITIONS))

_RENAME_EXCHANGE: Final = 2
_AT_FDCWD: Final = -100


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapTree:
    """A root with `one/two/three/file.txt`, a twin of it outside, and what is exchanged with what."""

    root: Path
    outside: Path
    live: Path
    """The name inside the root that is exchanged."""
    twin: Path
    """What it is exchanged with; kept beside the root."""
    path: str = PATH
    """The file, relative to the root."""
    folder: str = "/".join(FOLDERS)
    """The folder that holds it."""

    def outside_names(self) -> list[str]:
        """Return everything that stands outside, sorted."""
        return sorted(str(found.relative_to(self.outside)) for found in self.outside.rglob("*"))

    def assert_outside_untouched(self) -> None:
        """Fail if a name, a byte or a mode outside the root has changed."""
        expected = ["/".join((*FOLDERS, NAME)[:depth]) for depth in range(1, len(FOLDERS) + 2)]
        canary = self.outside / PATH
        assert self.outside_names() == sorted([*expected, "/".join((*FOLDERS, "secret"))])
        assert canary.read_bytes() == OUTSIDE
        assert canary.stat().st_mode & 0o777 == 0o640


def plant(base: Path, kind: Kind, position: int) -> SwapTree:
    """Lay out a tree; skips where two names cannot be exchanged in one step.

    Args:
        base: An empty directory, which will hold root, outside and twin.
        kind: What the live name is exchanged with; the first five are links out of the root.
        position: Which component of `PATH` is exchanged.
    """
    root, outside = base / "root", base / "outside"
    for place, content in ((root, INSIDE), (outside, OUTSIDE)):
        (place / PATH).parent.mkdir(parents=True)
        (place / PATH).write_bytes(content)
    (outside / PATH).chmod(0o640)
    (outside / PATH).with_name("secret").write_bytes(OUTSIDE)
    parts = (*FOLDERS, NAME)[: position + 1]
    live, goal = root.joinpath(*parts), outside.joinpath(*parts)
    _make_twin(base / "twin", kind, live, goal)
    if sys.platform != "linux" or any(_renamer()(str(live), str(base / "twin")) for _ in range(2)):
        import pytest  # the second process does without

        pytest.skip("this file system cannot exchange names in one step")
    return SwapTree(root=root, outside=outside, live=live, twin=base / "twin")


def _make_twin(twin: Path, kind: Kind, live: Path, goal: Path) -> None:
    if kind == "absolute":
        twin.symlink_to(goal)
    elif kind == "relative":
        twin.symlink_to(os.path.relpath(goal, live.parent))
    elif kind == "chain":
        twin.with_name("chain").symlink_to(goal)
        twin.symlink_to(twin.with_name("chain"))
    elif kind == "proc_root":
        twin.symlink_to(f"/proc/self/root{goal}")
    elif kind == "dangling":
        twin.symlink_to(goal.parent / "missing")
    elif kind == "plain_file":
        twin.write_bytes(INSIDE)
    else:
        os.mkfifo(twin)


class Swapper:
    """Context in which a child process keeps exchanging the live name and its twin; gives the tree."""

    def __init__(self, tree: SwapTree) -> None:
        self._tree = tree
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SwapTree:
        command = [sys.executable, "-I", __file__, str(self._tree.live), str(self._tree.twin)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"swapping\n"
        return self._tree

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()


class _renamer:  # noqa: N801  # called like a function, made once
    def __init__(self) -> None:
        self._rename = ctypes.CDLL(None, use_errno=True).renameat2

    def __call__(self, first: str, second: str) -> int:
        result: int = self._rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
        return result


def _swap_for_ever(live: str, twin: str) -> None:
    rename = _renamer()
    assert rename(live, twin) == 0, os.strerror(ctypes.get_errno())
    print("swapping", flush=True)  # noqa: T201
    parent = os.getppid()
    while os.getppid() == parent:
        for _ in range(1000):
            rename(live, twin)


if __name__ == "__main__":
    _swap_for_ever(sys.argv[1], sys.argv[2])
