"""The type of a validated path: a `WorkspacePath` need not be checked again."""

from __future__ import annotations

from itertools import accumulate
from typing import Final, Self

from filetools.errors import InvalidPathError

_NOT_NAMES: Final = frozenset(("", ".", ".."))


class WorkspacePath(str):
    """A normalised path below the root, "/"-separated; "" is the root itself. Immutable.

    `Workspace.resolve`, `child` and `parent` create them. The constructor is for text that was a WorkspacePath before,
    such as a journal row; it refuses text that is not in normal form, so that no instance ever holds "..".
    """

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        """Return `text` as a path.

        Args:
            text: A path in normal form; may hold surrogate escapes where a name on disk is not UTF-8.

        Raises:
            InvalidPathError: An empty, "." or ".." segment, or NUL.
        """
        if text and ("\0" in text or not _NOT_NAMES.isdisjoint(text.split("/"))):
            raise InvalidPathError(text, "not a normalised path")
        return str.__new__(cls, text)

    @property
    def name(self) -> str:
        """Last segment; "" for the root."""
        return self[self.rfind("/") + 1 :]

    @property
    def parent(self) -> WorkspacePath:
        """The folder that contains this path; the root's parent is the root."""
        return str.__new__(WorkspacePath, self[: max(self.rfind("/"), 0)])

    @property
    def parts(self) -> tuple[str, ...]:
        """All segments, outermost first; empty for the root."""
        return tuple(self.split("/")) if self else ()

    @property
    def folders(self) -> tuple[WorkspacePath, ...]:
        """The folders that this path is in, outermost first, without the root."""
        return tuple(str.__new__(WorkspacePath, each) for each in accumulate(self.parts[:-1], "{}/{}".format))

    @property
    def is_root(self) -> bool:
        """True for the root itself."""
        return not self

    def child(self, name: str) -> WorkspacePath:
        """Return the path of `name` inside this folder.

        Args:
            name: One segment as the disk gives it; may hold surrogate escapes and backslashes.

        Raises:
            InvalidPathError: It is empty, ".", "..", or holds "/" or NUL.
        """
        if name in _NOT_NAMES or "/" in name or "\0" in name:
            raise InvalidPathError(name, "not a single name")
        return str.__new__(WorkspacePath, f"{self}/{name}" if self else name)

    def is_below(self, other: str) -> bool:
        """True if this path lies strictly inside the folder `other`."""
        if not other:
            return bool(self)
        return len(self) > len(other) and self[len(other)] == "/" and self.startswith(other)


ROOT: Final = WorkspacePath()
"""The path of the root itself."""
