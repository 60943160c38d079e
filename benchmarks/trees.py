"""Large trees and large journals. `run.py` names a folder in which benchmarks share the largest ones.

Usage: python -m benchmarks.trees tree|journal ROOT SIZE    (makes one)
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import filetools
from filetools.content.version import version_of
from filetools.journal.journal import Journal
from filetools.journal.records import Change
from filetools.models.records import EXTERNAL, Operation
from filetools.paths.workspace_path import WorkspacePath

SHARED: Final = "BENCH_TREES"
"""Names the folder that benchmarks share."""
FILE: Final = "dir00/file000.py"
"""A file that every tree has."""
SMALL_TREE: Final = 1_000
KEPT: Final = {"retention_records": 10**9}
"""Without this, the first round of the background removes all records over a million."""
_FILES_A_FOLDER: Final = 9
_FOLDERS_A_FOLDER: Final = 10
_IGNORE: Final = (
    "*.pyc build/ *.so dist/ *.egg-info/ .env *.log node_modules/ *.tmp /target *.py[cod] Dir07/ dir08/ dir09/"
)
_BATCH: Final = 1_000
_CHANGED: Final = 100
"""Files that the records of a filled journal concern."""


def shared_folder() -> Path | None:
    """Return the folder that benchmarks share, if `run.py` started this one."""
    name = os.environ.get(SHARED)
    return Path(name) if name else None


@contextmanager
def tree(files: int) -> Iterator[Path]:
    """Give a root with as many files in nested folders: the shared one, or one that is removed at the end."""
    shared = shared_folder()
    folder = shared or Path(tempfile.mkdtemp(prefix="bench-tree-"))
    root = folder / f"tree{files}"
    try:
        if not root.exists():
            grow(root, files)
        yield root
    finally:
        if not shared:
            shutil.rmtree(folder)


def grow(root: Path, files: int) -> None:
    """Make folders of nine files and up to ten folders each, in mixed case, with a .gitignore that matches a tenth."""
    made, level = 0, [str(root)]
    root.mkdir(parents=True)
    (root / ".gitignore").write_text(_IGNORE.replace(" ", "\n"))
    while made < files:
        below = []
        for folder in level:
            for number in range(_FOLDERS_A_FOLDER):
                if made >= files:
                    return
                inner = f"{folder}/{'Dir' if number % 2 else 'dir'}{number:02}"
                os.mkdir(inner)
                below.append(inner)
                for index in range(min(_FILES_A_FOLDER, files - made)):
                    put(
                        f"{inner}/{'File' if index % 3 else 'file'}{index:03}.py",
                        b"def value(self):\n    return %d\n" % (made % 9_000 + index),
                    )
                made += _FILES_A_FOLDER
        level = below


def put(path: str, content: bytes) -> None:
    """Make a file in as few steps as possible."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    if content:
        os.write(descriptor, content)
    os.close(descriptor)


async def root_with_records(root: Path, files: int, records: int) -> None:
    """Make a tree, unless it exists, and a journal with as many records of changes by another program."""
    if not root.exists():
        grow(root, files)
    async with filetools.open(root, settings={"watch": False, **KEPT}):
        pass  # makes the state directory
    journal = Journal(root / ".filetools", durability="relaxed")
    for start in range(0, records, _BATCH):
        journal.commit([_change(number) for number in range(start, start + _BATCH)], EXTERNAL)
        if start % (20 * _BATCH) == 0:
            journal.checkpoint()
    assert journal.positions().newest >= records
    journal.close()
    # The last record of every path agrees with the disk, so that opening finds nothing new.
    (root / "changed").mkdir()
    for number in range(records - _CHANGED, records):
        put(f"{root}/changed/{number % _CHANGED}.txt", b"content %d" % number)


def _change(number: int) -> Change:
    path, content = f"changed/{number % _CHANGED}.txt", b"content %d" % number
    operation = Operation.CREATE if number < _CHANGED else Operation.MODIFY
    return Change(
        operation=operation, path=WorkspacePath(path), key=path, after=version_of(content), content=content,
        size=len(content), mode=0o644, applied=True, external=True,
    )  # fmt: skip


if __name__ == "__main__":
    place, size = Path(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "tree":
        grow(place, size)
    else:
        asyncio.run(root_with_records(place, SMALL_TREE, size))
