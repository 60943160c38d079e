"""Results of calls about history: undo, checkpoints, comparisons of the tree, provenance."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from filetools.models.result import ChangeResult, RecordedChange, Result

TreeChangeKind = Literal["added", "modified", "deleted", "moved", "mode", "kind"]
"""mode: only the permission bits changed; kind: the type changed between file, folder and link."""


class UndoneChange(RecordedChange):
    """One recorded change, and what an undo made of it, or in a dry run would make."""

    outcome: Literal["undone", "unchanged", "kept", "unknown", "conflict"]
    """unchanged: nothing of it was left; kept: a folder that others use now; unknown: the previous state is unknown."""


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
    """link: create or redirect a symbolic link, whose version is that of its target; set_mode: change a folder's mode."""
    old_path: str | None = None
    version: str | None = None
    """Version after the undo."""
    replaced_version: str | None = None


class UndoConflict(Result):
    """Changes of one path that cannot be taken back, because others have worked on top of them."""

    path: str
    code: str
    reason: str
    numbers: list[int]
    conflicts: list[dict[str, Any]] = Field(default_factory=list)
    """Overlapping texts: `ours` is the current text, `theirs` the previous one, with base and line."""


class UndoResult(ChangeResult):
    """What `undo`, `redo` or `restore` did, or in a dry run would do; no changes if there was nothing to undo."""

    changes: list[UndoneChange] = Field(default_factory=list)
    """Newest first."""
    files: list[UndoneFile] = Field(default_factory=list)
    conflicts: list[UndoConflict] = Field(default_factory=list)
    """Changes that were skipped; without `partial`, an undo with conflicts changes nothing."""
    unknown: list[str] = Field(default_factory=list)
    """Paths left unchanged because their previous state or their origin is unknown."""
    unread: list[str] = Field(default_factory=list)
    """If the whole tree was read before: paths that could not be read, or that kept changing."""
    dry_run: bool = False


class LookResult(Result):
    """A look at the whole tree: whatever it does not name is recorded by now as it stands there."""

    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read, that kept changing, or whose names cannot be written as a path; these are escaped."""
    recorded: bool = True
    """False if nothing can be recorded because the state is not writable; the tree was not read then."""


class CheckpointResult(Result):
    """A moment with a name."""

    name: str
    number: int
    """Journal number of the newest change at that moment."""
    time: float
    """Seconds since the epoch."""
    files: int
    """Number of files in it."""
    bytes: int
    """Their total size."""
    by_hash_alone: list[str] = Field(default_factory=list)
    """Files that were too large to be kept; a restore cannot bring them back."""
    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read, or that changed while the tree was read."""
    automatic: bool = False
    """True if it was not named by anybody; the last 20 such ones are kept, or fewer if retention limits are exceeded."""


class CheckpointsResult(Result):
    """All checkpoints, oldest first."""

    checkpoints: list[CheckpointResult]


class TreeChange(Result):
    """What has become of one path, whatever happened to it in between."""

    path: str
    change: TreeChangeKind
    kind: str
    """"file", "directory" or "symlink"; the old type if it was deleted."""
    old_path: str | None = None
    """The old path, if it was moved; its bytes and its mode may have changed, too."""
    old_kind: str | None = None
    """The old type, if it was different."""
    old_version: str | None = None
    version: str | None = None
    old_size: int | None = None
    """Size of a file in bytes."""
    size: int | None = None
    old_mode: str | None = None
    """Permission bits in octal digits."""
    mode: str | None = None
    actors: list[dict[str, Any]] = Field(default_factory=list)
    """Kind and ID of all actors involved, first one first; "external" for changes that filetools has not recorded."""
    diff: str | None = None
    """The diff of a text in git's format, if requested."""
    diff_omitted: Literal["binary", "too large", "too many", "not kept", "withheld"] | None = None
    """Why a requested diff is missing although bytes have changed; withheld: a rule denies the caller access."""


class ActorChanges(Result):
    """How many of the changed paths one actor had a hand in."""

    kind: str
    id: str
    changes: dict[str, int]
    """Number of paths by kind of change; a path changed by two actors counts for both."""


class TreeDiffResult(Result):
    """The net changes between two states of the whole tree."""

    old: str
    """Name of the first checkpoint."""
    new: str | None = None
    """Name of the second checkpoint; None for the current tree."""
    old_time: float
    """Seconds since the epoch."""
    new_time: float | None = None
    changes: list[TreeChange] = Field(default_factory=list)
    """Ordered by path; entries that only moved together with their folder are omitted."""
    total: int
    """Number of changed paths, including those beyond the limit."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Number of all changed paths by kind of change."""
    by_actor: list[ActorChanges] = Field(default_factory=list)
    unread: list[str] = Field(default_factory=list)
    """Paths that could not be read now, or kept changing; they are not compared."""
    unknown: list[str] = Field(default_factory=list)
    """Paths that are in only one of the two because other ignore rules applied; no change of them is known."""


class LineRange(Result):
    """Lines that one change wrote last."""

    first: int
    """From 1."""
    last: int
    actor: dict[str, Any] | None = None
    """Kind "external" for programs that do not use filetools; None if the line is older than the recorded history."""
    session: str | None = None
    call: str | None = None
    time: float | None = None
    """Seconds since the epoch."""
    number: int | None = None
    """Journal number of the change; None for a change not recorded yet."""
    before: int | None = None
    """For lines older than the recorded history: the number of the change before which they were written."""
    run: dict[str, Any] | None = None
    """The agent's run that the change belongs to: `id`, `turn` if known, and the beginning of its `prompt`."""


class ProvenanceResult(Result):
    """Who wrote each line of a file last."""

    path: str
    version: str
    total_lines: int
    ranges: list[LineRange]
    """In order, without gaps."""
