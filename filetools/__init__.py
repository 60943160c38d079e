"""File tools for AI agents and editors: agents and people share one tree, and nobody's work is lost.

async with filetools.open("project", mirror="backup") as files:
    before = await files.read_file("src/app.py")
    await files.write_file("src/app.py", before.content + "\\n", expected_version=before.version)
"""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools import errors, events, models
    from filetools.app import ApprovalAnswer, ApprovalDecision, ApprovalRequest, BlockingFacade, open_sync
    from filetools.app import open_workspace as open  # noqa: A004 - read as filetools.open(), like io.open()
    from filetools.content import Edit, TextEdit
    from filetools.descriptors import Descriptors
    from filetools.editors import EditorState, Selection, TreeState
    from filetools.errors import FileToolsError
    from filetools.facade import FileToolsFacade
    from filetools.models import Actor
    from filetools.settings import Settings
    from filetools.stores import MemoryStore, Store
    from filetools.sync import SyncManager
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools": "errors, events, models",
            "filetools.app": "ApprovalAnswer, ApprovalDecision, ApprovalRequest, BlockingFacade, open_sync, "
            "open_workspace as open",
            "filetools.content": "Edit, TextEdit",
            "filetools.descriptors": "Descriptors",
            "filetools.editors": "EditorState, Selection, TreeState",
            "filetools.errors": "FileToolsError",
            "filetools.facade": "FileToolsFacade",
            "filetools.models": "Actor",
            "filetools.settings": "Settings",
            "filetools.stores": "MemoryStore, Store",
            "filetools.sync": "SyncManager",
        },
    )

__all__ = [
    "Actor",
    "ApprovalAnswer",
    "ApprovalDecision",
    "ApprovalRequest",
    "BlockingFacade",
    "Descriptors",
    "Edit",
    "EditorState",
    "FileToolsError",
    "FileToolsFacade",
    "MemoryStore",
    "Selection",
    "Settings",
    "Store",
    "SyncManager",
    "TextEdit",
    "TreeState",
    "errors",
    "events",
    "models",
    "open",
    "open_sync",
]
