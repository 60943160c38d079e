"""What the calls on the past return: undo, checkpoints, comparisons of the tree, provenance."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from filetools.models.result import ChangeResult, Result

TreeChangeKind = Literal["added", "modified", "deleted", "moved", "mode", "kind"]
"""mode: nothing but permission bits; kind: a file has become a folder or a link, or the other way round."""


class UndoneChange(Result):
    """One recorded change, and what an undo made of it, or in a dry run would make."""

    number: int
    operation: str
    path: str
    """The path that it had then."""
    old_path: str | None = None
    actor: dict[str, Any]
    time: float
    """Seconds since the epoch."""
    outcome: Literal["undone", "unchanged", "kept", "unknown", "conflict"]
    """unchanged: nothing of it was left; kept: a folder that others use now; unknown: nobody knows what was before."""


class UndoneFile(Result):
    """What an undo did to one path."""

    path: str
    action: Literal[
        "write",
        "create",
        "delete",
        "move",
        "make_directory",
        "move_directory",
        "delete_directory",
        "restore_directory",
        "link",
        "set_mode",
    ]
    """link: a symbolic link is made or points elsewhere, set_mode: a folder gets another mode; versions are of their texts."""
    old_path: str | None = None
    version: str | None = None
    """Version after the undo."""
    replaced_version: str | None = None
    structured_patch: list[dict[str, Any]] = Field(default_factory=list)
    """Hunks of what was written, where it is text and not too much."""


class UndoConflict(Result):
    """Changes of one path that cannot be taken back, because others have worked on top of them."""

    path: str
    code: str
    reason: str
    numbers: list[int]
    conflicts: list[dict[str, Any]] = Field(default_factory=list)
    """Where texts overlap: `ours` is what stands there now, `theirs` what was there before, with base and line."""


class NotUndone(Result):
    """A path at which something stays as it is."""

    path: str
    reason: str
    """Why, in a few words."""


class UndoResult(ChangeResult):
    """What `undo`, `redo` or `restore` did, or in a dry run would do; no changes if there was nothing to undo."""

    changes: list[UndoneChange] = Field(default_factory=list)
    """Newest first."""
    files: list[UndoneFile] = Field(default_factory=list)
    conflicts: list[UndoConflict] = Field(default_factory=list)
    """What was left out; without `partial` an undo with conflicts changes nothing."""
    unknown: list[str] = Field(default_factory=list)
    """Paths that stay as they are: nobody knows what was before them, or where they come from."""
    not_undone: list[NotUndone] = Field(default_factory=list)
    """All that could not be taken back, each path once: conflicts, what is unknown, and folders that others use now."""
    unread: list[str] = Field(default_factory=list)
    """Where the whole tree was looked at before: paths that could not be read, or that kept changing meanwhile."""
    dry_run: bool = False


class LookResult(Result):
    """A look at the whole tree: whatever it does not name is recorded by now as it stands there."""

    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read, that kept changing meanwhile, or whose names no call can say; these are escaped."""
    recorded: bool = True
    """False where nothing can be recorded, because the state cannot be written; then nobody has looked."""


class CheckpointResult(Result):
    """A moment with a name."""

    name: str
    number: int
    """Journal number of the newest change at that moment."""
    time: float
    """Seconds since the epoch."""
    files: int
    """Files in it."""
    bytes: int
    """Their size in all."""
    by_hash_alone: list[str] = Field(default_factory=list)
    """Files that were too large to be kept: a restore cannot bring them back."""
    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read, or that changed while the tree was looked at."""
    automatic: bool = False
    """Whether nobody named it: the last 20 such ones are kept, fewer where the retention's limits are exceeded."""


class CheckpointsResult(Result):
    """All checkpoints, oldest first."""

    checkpoints: list[CheckpointResult]


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


class LineRange(Result):
    """Lines that one change wrote last."""

    first: int
    """From 1."""
    last: int
    actor: dict[str, Any] | None = None
    """Kind "external" for programs that know nothing of filetools; None if it is older than what is known."""
    session: str | None = None
    call: str | None = None
    time: float | None = None
    """Seconds since the epoch."""
    number: int | None = None
    """Journal number of the change; None for a change that nobody has recorded yet."""
    before: int | None = None
    """For lines older than what is known: the number of the change before which they were written."""
    run: dict[str, Any] | None = None
    """The run of an agent that the change belongs to: `id`, `turn` where it is known, and how its `prompt` begins."""


class ProvenanceResult(Result):
    """Who wrote each line of a file last."""

    path: str
    version: str
    total_lines: int
    ranges: list[LineRange]
    """In order, without gaps."""
