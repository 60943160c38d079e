"""Versions: who knows them, what stale writes make of them, how changes are taken back, and who wrote which line."""

from filetools.versions.draft_tree import DraftTree, Node, Origin, Present
from filetools.versions.knowledge import Knowledge
from filetools.versions.lineage import lineage
from filetools.versions.news import ChangedFile, owner_of
from filetools.versions.past import JournalPast
from filetools.versions.provenance import AuthoredLines, LineHistory
from filetools.versions.rebase import Rebased, conflict_error, overlap_error, rebase
from filetools.versions.selection import Moment, UndoRequest, changes_after, choose
from filetools.versions.undo import Clash, Finding, Undoing

__all__ = [
    "AuthoredLines",
    "ChangedFile",
    "Clash",
    "DraftTree",
    "Finding",
    "JournalPast",
    "Knowledge",
    "LineHistory",
    "Moment",
    "Node",
    "Origin",
    "Present",
    "Rebased",
    "UndoRequest",
    "Undoing",
    "changes_after",
    "choose",
    "conflict_error",
    "lineage",
    "overlap_error",
    "owner_of",
    "rebase",
]
