"""Keeping the primary and its mirrors what the journal says: following, catching up, verifying, and recovery."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.sync.actions import MakeDirectory, MirrorAction, Move, Put, Remove
    from filetools.sync.anticipation import Anticipation
    from filetools.sync.following import Follower, InlineFollower
    from filetools.sync.identity import MARKER, mark
    from filetools.sync.manager import AttachedMirror, SyncManager
    from filetools.sync.recovery import Recovery, recover
    from filetools.sync.strict import StrictTicket
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.sync.actions": "MakeDirectory, MirrorAction, Move, Put, Remove",
            "filetools.sync.anticipation": "Anticipation",
            "filetools.sync.following": "Follower, InlineFollower",
            "filetools.sync.identity": "MARKER, mark",
            "filetools.sync.manager": "AttachedMirror, SyncManager",
            "filetools.sync.recovery": "Recovery, recover",
            "filetools.sync.strict": "StrictTicket",
        },
    )

__all__ = [
    "MARKER",
    "Anticipation",
    "AttachedMirror",
    "Follower",
    "InlineFollower",
    "MakeDirectory",
    "MirrorAction",
    "Move",
    "Put",
    "Recovery",
    "Remove",
    "StrictTicket",
    "SyncManager",
    "mark",
    "recover",
]
