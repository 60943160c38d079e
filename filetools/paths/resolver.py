"""The port through which a path below a root becomes a descriptor; the implementations stand beside it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Final, Protocol

O_PATH: Final[int] = getattr(os, "O_PATH", 0)
O_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
O_NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
O_NOCTTY: Final[int] = getattr(os, "O_NOCTTY", 0)
SAFE_FLAGS: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The first component of a path that is no folder to go through, or the last one. Lives for one look."""

    path: str
    """Where it stands, relative to the root."""
    mode: int
    """File type and permission bits."""
    is_link: bool
    """Whether it is a symbolic link or, on Windows, another reparse point."""
    target: str | None = None
    """Text of the link."""


class Resolver(Protocol):
    """Opens paths below a root, never through a link. Keeps nothing of the tree; lives as long as its workspace."""

    def open(self, root: int, path: str, flags: int, mode: int) -> int:
        """Open `path` ("" is the root) relative to the descriptor `root`.

        Args:
            root: Descriptor of the root directory.
            path: Normalised path.
            flags: As for `os.open`, with the flags that refuse links already added.
            mode: Permission bits of a file to be created; 0 where none is created.

        Raises:
            OSError: Untranslated. A link on the way is ELOOP or ENOTDIR.
        """

    def open_cached(self, root: int, path: str, flags: int) -> int | None:
        """As `open`, but only where the kernel has every name in memory; None if it has not or cannot tell."""

    def stat(self, root: int, path: str) -> os.stat_result:
        """Return the facts of what stands at a path, of a link at its end its own.

        Raises:
            OSError: As for `open`.
        """

    def obstacle(self, root: int, path: str) -> Obstacle | None:
        """Look, without following links, for the first component that is not a folder; the last one counts always.

        Returns:
            That component, or None if the way ends before in a name that does not exist.

        Raises:
            OSError: Untranslated; the look was denied.
        """


def is_link(found: os.stat_result) -> bool:
    """Whether `lstat` found a symbolic link or, on Windows, another reparse point such as a junction."""
    attributes: int = getattr(found, "st_file_attributes", 0)
    return stat.S_ISLNK(found.st_mode) or bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)
