"""Versions given by callers, in full or shortened."""

from __future__ import annotations

import re
from typing import Final

from filetools.changes.deciding.actor_knowledge import versions_had
from filetools.changes.parts import Parts
from filetools.errors import InvalidArgumentError, VersionGoneError
from filetools.models.records import Actor
from filetools.models.words import VERSION_PREFIX
from filetools.paths.workspace_path import WorkspacePath

SHORTEST_PREFIX: Final = 4
"""Minimum number of hex digits of a shortened version."""
_SHORT_VERSION: Final = re.compile(r"[0-9a-f]{4,64}")
_FULL_VERSION: Final = re.compile(r"[0-9a-f]{64}")


def full_version(parts: Parts, path: WorkspacePath, version: str, actor: Actor) -> str:
    """Return the full form of a version; a shortened one is looked up among the recorded versions of the path.

    A full version may be of another path, unless the actor may read none of the paths that have had it.

    Raises:
        InvalidArgumentError: The version is malformed or ambiguous.
        VersionGoneError: The path has no such recorded version, or it is withheld from the actor.
    """
    digits = str(version).removeprefix(VERSION_PREFIX).lower()
    key = parts.workspace.key(path)
    if _FULL_VERSION.fullmatch(digits):
        full = VERSION_PREFIX + digits
        is_withheld = parts.gatekeeper.policy.withholding(actor, "read_file")
        if is_withheld is not None and all(row.version != full for row in parts.tracker.rows(actor, key)):
            paths = parts.journal.history.paths_of(full)
            if paths and all(map(is_withheld, paths)):
                raise VersionGoneError(path, version)
        return full
    if not _SHORT_VERSION.fullmatch(digits):
        raise InvalidArgumentError(
            f"A version is what a read or versions() returned, or at least {SHORTEST_PREFIX} hex digits of it, not {version!r}",
            suggested_action="Omit the version to get the current text.",
        )
    found = [each for each in versions_had(parts, key) if each.startswith(VERSION_PREFIX + digits)]
    if not found:
        raise VersionGoneError(path, version)
    if len(found) > 1:
        raise InvalidArgumentError(f"Several versions of {path} begin with {version!r}; give more digits", path=path)
    return found[0]
