"""Large trees. `run.py` names a folder in which benchmarks share the largest, which takes longest to make.

Usage: python -m benchmarks.trees ROOT FILES    (makes one)
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SHARED_VARIABLE: Final = "BENCH_TREES"
FILES_A_FOLDER: Final = 9
FOLDERS_A_FOLDER: Final = 10
IGNORE: Final = """*.pyc
build/
*.so
dist/
*.egg-info/
.env
*.log
node_modules/
*.tmp
/target
*.py[cod]
Dir07/
dir08/
dir09/
"""
FILE: Final = "dir00/file000.py"
"""One that is in every tree."""
TEXT: Final = b"def value(self):\n    return %d\n"
TEXTS: Final = 9_000
"""How many different ones there are, about: the rest are the same bytes again."""


@contextmanager
def tree(files: int) -> Iterator[Path]:
    """Give a root with so many files in nested folders: the shared one, or one that is removed at the end."""
    shared = os.environ.get(SHARED_VARIABLE)
    root = shared_tree(Path(shared or tempfile.mkdtemp(prefix="bench-tree-")), files)
    try:
        if not root.exists():
            grow(root, files)
        yield root
    finally:
        if not shared:
            shutil.rmtree(root.parent)


def shared_tree(folder: Path, files: int) -> Path:
    """Return where a tree of so many files lies in a folder for all."""
    return folder / f"tree{files}"


def grow(root: Path, files: int) -> None:
    """Make folders of nine files and up to ten folders each, in mixed case, with rules for git that leave out a tenth."""
    made, level = 0, [str(root)]
    root.mkdir(parents=True)
    (root / ".gitignore").write_text(IGNORE)
    while made < files:
        below = []
        for folder in level:
            for number in range(FOLDERS_A_FOLDER):
                if made >= files:
                    return
                inner = f"{folder}/{'Dir' if number % 2 else 'dir'}{number:02}"
                os.mkdir(inner)
                below.append(inner)
                for index in range(min(FILES_A_FOLDER, files - made)):
                    put(f"{inner}/{'File' if index % 3 else 'file'}{index:03}.py", TEXT % (made % TEXTS + index))
                made += FILES_A_FOLDER
        level = below


def put(path: str, content: bytes) -> None:
    """Make a file, in the fewest steps."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    if content:
        os.write(descriptor, content)
    os.close(descriptor)


if __name__ == "__main__":
    grow(Path(sys.argv[1]), int(sys.argv[2]))
