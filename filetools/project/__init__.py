"""What a project is, what state it is in, and which instructions apply in it; nothing of it is ever run."""

# `readme` is imported from its module: the package cannot have a function and a module of one name.
from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.project.git import git_remote, git_state, listed_files, worktrees
    from filetools.project.manifests import dependencies, discovered
    from filetools.project.prompt import build_prompt, estimate_tokens, format_context, gather
    from filetools.project.recent import age, recent_files
    from filetools.project.registry import Registry
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.project.git": "git_remote, git_state, listed_files, worktrees",
            "filetools.project.manifests": "dependencies, discovered",
            "filetools.project.prompt": "build_prompt, estimate_tokens, format_context, gather",
            "filetools.project.recent": "age, recent_files",
            "filetools.project.registry": "Registry",
        },
    )

__all__ = [
    "Registry",
    "age",
    "build_prompt",
    "dependencies",
    "discovered",
    "estimate_tokens",
    "format_context",
    "gather",
    "git_remote",
    "git_state",
    "listed_files",
    "recent_files",
    "worktrees",
]
