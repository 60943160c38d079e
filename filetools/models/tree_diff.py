"""What the comparison of two states of the whole tree returns."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from filetools.models.result import Result

TreeChangeKind = Literal["added", "modified", "deleted", "moved", "mode", "kind"]
"""mode: nothing but permission bits; kind: a file has become a folder or a link, or the other way round."""


class TreeChange(Result):
    """What has become of one path, whatever happened to it in between."""

    path: str
    change: TreeChangeKind
    kind: str
    """"file", "directory" or "symlink": what stands there, or stood there if it was deleted."""
    old_path: str | None = None
    """Where it was before, if it was moved; then its bytes and its mode may have changed, too."""
    old_kind: str | None = None
    """What stood there before, if that was something else."""
    old_version: str | None = None
    version: str | None = None
    old_size: int | None = None
    """Bytes of a file."""
    size: int | None = None
    old_mode: str | None = None
    """Permission bits in octal digits."""
    mode: str | None = None
    actors: list[dict[str, Any]] = Field(default_factory=list)
    """Kind and id of everybody who had a hand in it, the first one first; "external" for what filetools has not recorded."""
    diff: str | None = None
    """The change of a text as git writes it, if it was asked for."""
    diff_omitted: Literal["binary", "too large", "too many", "not kept", "withheld"] | None = None
    """Why there is none although it was asked for and bytes have changed; withheld: a rule keeps the caller from reading."""


class ActorChanges(Result):
    """How many of the changed paths one actor had a hand in."""

    kind: str
    id: str
    changes: dict[str, int]
    """Number of paths by kind of change; a path that two actors changed counts for both."""


class TreeDiffResult(Result):
    """The net changes between two states of the whole tree."""

    old: str
    """Name of the checkpoint that is compared."""
    new: str | None = None
    """Name of the other one; None is what stands there now."""
    old_time: float
    """Seconds since the epoch."""
    new_time: float | None = None
    changes: list[TreeChange] = Field(default_factory=list)
    """In the order of their paths; what only moved along with its folder is left out."""
    total: int
    """Number of changed paths, also of those beyond the limit."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Number of all changed paths by kind of change."""
    by_actor: list[ActorChanges] = Field(default_factory=list)
    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read now, or kept changing: nothing is said of them."""
    unknown: list[str] = Field(default_factory=list)
    """Paths that are in one of them alone since other ignore rules held; nothing is known to have happened to them."""
