"""What makes a restore exact: the draft that going back record by record has led to is brought to the snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from filetools.errors import VersionGoneError
from filetools.facade.parts import Parts
from filetools.facade.snapshots import Left, complete
from filetools.facade.tree_look import TreeLook
from filetools.journal import SnapshotRow
from filetools.models import Operation
from filetools.paths import WorkspacePath
from filetools.versions import Clash, DraftTree, Finding


@dataclass(frozen=True, slots=True)
class Draft:
    """The tree as it shall be, and what becomes of each change."""

    tree: DraftTree
    findings: list[Finding]
    unknown: tuple[str, ...] = ()
    """Paths that stay as they are: nobody knows what was there, or where they come from."""


@dataclass(frozen=True, slots=True)
class Target:
    """The checkpoint that a restore goes back to."""

    number: int
    """Number of the newest record that it shows."""
    tree: Mapping[str, SnapshotRow] | None
    """What stood in the tree, by key; None of a checkpoint that is a number alone."""
    seen: TreeLook
    """What stands now."""


def completed(parts: Parts, tree: DraftTree, findings: list[Finding], target: Target) -> Draft:
    """Have the draft be the tree of the snapshot, of which every change since then is known."""
    if target.tree is None:
        return Draft(tree, findings)
    came_since = partial(_came_since, parts, target.number)
    left = complete(tree, target.tree, target.seen, came_since, parts.names.is_left_out)
    covered = {row.path for row in target.tree.values() if row.kind in ("file", "directory")}
    known = [
        replace(finding, outcome="undone", clash=None)
        if finding.path not in left.unknown and (finding.path in covered or tree.at(finding.path) is None)
        else finding
        for finding in findings
        if finding.path not in left.gone
    ]
    return Draft(tree, [*known, *(_gone(path, left, findings) for path in left.gone)], tuple(sorted(left.unknown)))


def _came_since(parts: Parts, number: int, key: str) -> bool:
    """Whether the first record of a path after another one says that it came to be there."""
    first = next(iter(parts.journal.records(number, key=key, limit=1)), None)
    if first is None or parts.workspace.key(WorkspacePath(first.path)) != key:
        return False
    return first.operation in (Operation.CREATE, Operation.MOVE)


def _gone(path: str, left: Left, findings: list[Finding]) -> Finding:
    error = VersionGoneError(path, left.gone[path])
    records = tuple(record for finding in findings if finding.path == path for record in finding.records)
    clash = Clash(code=error.code, reason=error.message)
    return Finding(records=records, path=path, outcome="conflict", clash=clash)
