"""Waiting without sleeping blindly, and what is done by another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Let the loop run until a condition holds; fails after a bounded time."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)


def run_child(program: str, *arguments: str | Path) -> None:
    """Run a Python program to its end in another process."""
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True, timeout=60)


def remove_deep_tree(root: Path) -> None:
    """Remove a tree that is too deep for `shutil`."""
    subprocess.run(["rm", "-rf", str(root)], check=True, timeout=60)
