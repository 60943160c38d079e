"""What makes a restore exact: the draft that going back record by record has led to is brought to the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct, structs

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.facade.snapshots import Left, complete
from filetools.facade.tree_memory import TreeLook
from filetools.journal.checkpoints import SnapshotRow
from filetools.models.records import ChangeRecord, Operation
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.versions.draft_tree import DraftTree, within
from filetools.versions.undo import Clash, UndoFinding


class RestoreTarget(Struct, frozen=True):
    """The checkpoint that a restore goes back to."""

    number: int
    """Number of the newest record that it shows."""
    tree: Mapping[str, SnapshotRow] | None
    """What stood in the tree, by key; None of a checkpoint whose rows were damaged, which is a number alone."""
    seen: TreeLook
    """What stands now."""
    path: WorkspacePath = ROOT
    """What is restored, with all below; the root is all."""

    def covers(self, path: str | None) -> bool:
        """Whether a path is restored; None is."""
        return path is None or self.path in (ROOT, path) or path.startswith(f"{self.path}/")

    def covers_all_of(self, record: ChangeRecord) -> bool:
        """Whether both ends of a change are restored."""
        return self.covers(record.path) and self.covers(record.old_path)


def completed(
    parts: Parts, tree: DraftTree, findings: list[UndoFinding], target: RestoreTarget
) -> tuple[list[UndoFinding], tuple[str, ...]]:
    """Have the draft be the tree of the snapshot, of which every change since then is known; or a part of it.

    Returns:
        What becomes of each change, and the paths that stay as they are: nobody knows what was there, or where they come
        from.
    """
    left = Left()
    if target.tree is not None:
        came_since = partial(_came_since, parts, target.number)
        left = complete(tree, target.tree, target.seen, came_since, parts.names.is_left_out)
    if not target.path.is_root:
        tree.keep_within(target.path)
        findings = [each for each in findings if all(target.covers_all_of(record) for record in each.records)]
    refused = [_refused(path, left.refused[path], findings) for path in left.refused if target.covers(path)]
    unknown = tuple(sorted(path for path in {*left.unknown, *target.seen.unnamed} if target.covers(path)))
    if target.tree is None:
        return findings, unknown
    covered = {row.path for row in target.tree.values() if row.kind != "other"}
    known = [
        structs.replace(finding, outcome="undone", clash=None)
        if finding.path not in unknown and (finding.path in covered or tree.at(finding.path) is None)
        else finding
        for finding in findings
        if finding.path not in left.refused
    ]
    return [*known, *refused], unknown


def require_known(target: RestoreTarget, name: str, key: Callable[[WorkspacePath], str]) -> None:
    """Refuse to restore a path of which nothing is known.

    Raises:
        InvalidArgumentError: It is neither in the checkpoint nor in the tree.
    """
    if target.tree is None or target.path.is_root:
        return
    top = key(target.path)
    if not any(top in within(each) for rows in (target.tree, target.seen.rows) for each in rows):
        raise InvalidArgumentError(
            f"{target.path} is neither in the checkpoint {name!r} nor in the tree now",
            path=target.path,
            suggested_action="Use its name at the checkpoint, or its name now; neither has ignored files.",
        )


def _came_since(parts: Parts, number: int, key: str) -> bool:
    """Whether the first record of a path after another one says that it came to be there."""
    first = next(iter(parts.journal.records(number, key=key, limit=1)), None)
    if first is None or parts.workspace.key(first.path) != key:
        return False
    return first.operation in (Operation.CREATE, Operation.MOVE)


def _refused(path: str, error: FileToolsError, findings: list[UndoFinding]) -> UndoFinding:
    records = tuple(record for finding in findings if finding.path == path for record in finding.records)
    clash = Clash(code=error.code, reason=error.message)
    return UndoFinding(records=records, path=path, outcome="conflict", clash=clash)
