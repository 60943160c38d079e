"""Folders that a command line or a client names: what they are, and which of them lie in one another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct


class Folder(Struct, frozen=True):
    """An existing folder."""

    given: Path
    """Absolute, as it was named."""
    real: Path
    """With its links resolved."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its absolute paths, each once."""
        return tuple(dict.fromkeys((self.given.as_posix(), self.real.as_posix())))


def folder_at(name: str | os.PathLike[str]) -> Folder | None:
    """Return the folder of a name, or None if there is none."""
    try:
        given = Path(os.path.abspath(Path(name).expanduser()))
        real = Path(os.path.realpath(given, strict=True))
        return Folder(given, real) if real.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # no such home, too long, NUL: no name of a folder
        return None


def outermost(folders: Sequence[Folder]) -> list[Folder]:
    """Return those that lie in none of the others, each once, in the order they are given."""
    kept = {folder.real: folder for folder in reversed(folders)}
    return [
        folder
        for folder in dict.fromkeys(kept[each.real] for each in folders)
        if not any(parent in kept for parent in folder.real.parents)
    ]
