"""Versions: who knows them, what stale writes make of them, how changes are taken back, and who wrote which line."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.versions.draft_tree import DraftTree, Node, Origin, Present, within
    from filetools.versions.past import JournalPast, Standing, State
    from filetools.versions.provenance import AuthoredLines, LineHistory, RememberedLines
    from filetools.versions.read_tracker import ReadTracker, Rows, added, owner_of
    from filetools.versions.rebasing import LARGEST_DIFF_CHARACTERS, Rebased, conflict_error, overlap_error, rebase
    from filetools.versions.reversals import Reversals, all_undoers
    from filetools.versions.rewinding import Rewinding
    from filetools.versions.selection import Moment, UndoRequest, changes_after, choose
    from filetools.versions.tree_comparison import Difference, compare_trees, external_if_nobody
    from filetools.versions.undo import Clash, Finding, Undoing
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.versions.draft_tree": "DraftTree, Node, Origin, Present, within",
            "filetools.versions.past": "JournalPast, Standing, State",
            "filetools.versions.provenance": "AuthoredLines, LineHistory, RememberedLines",
            "filetools.versions.read_tracker": "ReadTracker, Rows, added, owner_of",
            "filetools.versions.rebasing": "LARGEST_DIFF_CHARACTERS, Rebased, conflict_error, overlap_error, rebase",
            "filetools.versions.reversals": "Reversals, all_undoers",
            "filetools.versions.rewinding": "Rewinding",
            "filetools.versions.selection": "Moment, UndoRequest, changes_after, choose",
            "filetools.versions.tree_comparison": "Difference, compare_trees, external_if_nobody",
            "filetools.versions.undo": "Clash, Finding, Undoing",
        },
    )

__all__ = [
    "LARGEST_DIFF_CHARACTERS",
    "AuthoredLines",
    "Clash",
    "Difference",
    "DraftTree",
    "Finding",
    "JournalPast",
    "LineHistory",
    "Moment",
    "Node",
    "Origin",
    "Present",
    "ReadTracker",
    "Rebased",
    "RememberedLines",
    "Reversals",
    "Rewinding",
    "Rows",
    "Standing",
    "State",
    "UndoRequest",
    "Undoing",
    "added",
    "all_undoers",
    "changes_after",
    "choose",
    "compare_trees",
    "conflict_error",
    "external_if_nobody",
    "overlap_error",
    "owner_of",
    "rebase",
    "within",
]
