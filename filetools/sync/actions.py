"""What a mirror is to do after a change of the primary, as frozen records."""

from __future__ import annotations

from msgspec import Struct

from filetools.paths.workspace_path import WorkspacePath


class MirrorPut(Struct, frozen=True, kw_only=True):
    """Give a file these bytes, whether it is there or not."""

    path: WorkspacePath
    key: str
    number: int
    """Journal number of the change; 0 before the commit."""
    content: bytes
    mode: int | None = None
    """Permission bits; None keeps those of the file that stands there."""
    new: bool | None = None
    """Whether nothing is expected to stand there; None looks."""
    version: str | None = None
    """Version of `content`, where it is known already."""


class MirrorRemove(Struct, frozen=True, kw_only=True):
    """Take a file away, or a directory with all below it."""

    path: WorkspacePath
    key: str
    number: int


class MakeDirectory(Struct, frozen=True, kw_only=True):
    """Make a directory, and its parents."""

    path: WorkspacePath
    key: str
    number: int
    mode: int | None = None
    """Permission bits of a directory that is made; None for those of any new one."""


class MirrorMove(Struct, frozen=True, kw_only=True):
    """Rename a file or a directory; a file at the destination is replaced."""

    path: WorkspacePath
    """The destination."""
    key: str
    source: WorkspacePath
    source_key: str
    number: int
    version: str | None = None
    """Version of the moved file, where it is known already; the journal's head tells it otherwise."""
    mode: int | None = None
    """Permission bits of a moved file, which a mirror may lack yet; None keeps those it has."""


MirrorAction = MirrorPut | MirrorRemove | MakeDirectory | MirrorMove


class OutOfStepError(Exception):
    """Raised when a mirror does not hold what an action builds on; catching up puts it right."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def places(action: MirrorAction) -> tuple[tuple[str, WorkspacePath], ...]:
    """Return the (key, path) pairs that an action changes; each is an entry of its own."""
    here = (action.key, action.path)
    return (here, (action.source_key, action.source)) if isinstance(action, MirrorMove) else (here,)
