"""Path rules and race-free opening: what a path may be, and how it becomes a descriptor that no race can redirect."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.paths.lexical import AnyPath, plain_path
    from filetools.paths.protected import matches_protected
    from filetools.paths.root import ResolverChoice
    from filetools.paths.unmeant import refuse_unmeant
    from filetools.paths.workspace import Workspace
    from filetools.paths.workspace_path import ROOT, WorkspacePath
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.paths.lexical": "AnyPath, plain_path",
            "filetools.paths.protected": "matches_protected",
            "filetools.paths.root": "ResolverChoice",
            "filetools.paths.unmeant": "refuse_unmeant",
            "filetools.paths.workspace": "Workspace",
            "filetools.paths.workspace_path": "ROOT, WorkspacePath",
        },
    )

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
