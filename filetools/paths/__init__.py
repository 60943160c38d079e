"""Path rules and race-free opening: what a path may be, and how it becomes a descriptor that no race can redirect."""

from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.protected import matches_protected
from filetools.paths.root import ResolverChoice
from filetools.paths.unmeant import refuse_unmeant
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath

__all__ = [
    "ROOT",
    "AnyPath",
    "ResolverChoice",
    "Workspace",
    "WorkspacePath",
    "matches_protected",
    "plain_path",
    "refuse_unmeant",
]
