"""What must be known of a path before somebody is asked whether it may go: its kind, and what protected lies inside."""

from __future__ import annotations

from dataclasses import dataclass

from filetools.facade.parts import Parts
from filetools.paths import WorkspacePath, matches_protected
from filetools.search import walk_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What stands at a path."""

    is_folder: bool
    protected: tuple[WorkspacePath, ...]
    """Protected paths inside; each needs an approval of its own."""


def survey(parts: Parts, path: WorkspacePath, destination: WorkspacePath | None = None) -> Survey:
    """Look at a path and, if it is a folder, through all that is below it.

    Args:
        parts: The workspace.
        path: What may go.
        destination: Where it may move to; what is protected there counts, too.
    """
    stat = parts.store.stat(path)
    if stat is None or stat.type != "directory":
        return Survey(is_folder=False, protected=())
    patterns = parts.settings.protected_paths
    inside = [below for below, _ in walk_tree(parts.store, path)]
    if destination is not None:
        inside += [WorkspacePath(f"{destination}/{below[len(path) + 1 :]}") for below in inside]
    return Survey(is_folder=True, protected=tuple(below for below in inside if matches_protected(below, patterns)))
