"""The changes that can go the way of a write, one module a kind."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.facade.steps.decision import Decide, Decision, Sent, Shown
    from filetools.facade.steps.folders import FolderStep, MakeFolder, MoveFolder, RemoveFolder
    from filetools.facade.steps.foreign_folders import (
        Noticed,
        folder_deletion,
        folder_view,
        tell_of_gone_folders,
        tell_of_new_folders,
    )
    from filetools.facade.steps.linked import with_other_names
    from filetools.facade.steps.move import MoveFile
    from filetools.facade.steps.parents import UnheldError
    from filetools.facade.steps.put import PutFile
    from filetools.facade.steps.remove import RemoveFile
    from filetools.facade.steps.step import Step, sync_names
    from filetools.facade.steps.unsaved import (
        UnsavedQuestion,
        aside,
        disk_text,
        overwritten,
        put_beside,
        replaced,
        unsaved_error,
        unsaved_text,
    )
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.facade.steps.decision": "Decide, Decision, Sent, Shown",
            "filetools.facade.steps.folders": "FolderStep, MakeFolder, MoveFolder, RemoveFolder",
            "filetools.facade.steps.foreign_folders": "Noticed, folder_deletion, folder_view, tell_of_gone_folders, "
            "tell_of_new_folders",
            "filetools.facade.steps.linked": "with_other_names",
            "filetools.facade.steps.move": "MoveFile",
            "filetools.facade.steps.parents": "UnheldError",
            "filetools.facade.steps.put": "PutFile",
            "filetools.facade.steps.remove": "RemoveFile",
            "filetools.facade.steps.step": "Step, sync_names",
            "filetools.facade.steps.unsaved": "UnsavedQuestion, aside, disk_text, overwritten, put_beside, replaced, "
            "unsaved_error, unsaved_text",
        },
    )

__all__ = [
    "Decide",
    "Decision",
    "FolderStep",
    "MakeFolder",
    "MoveFile",
    "MoveFolder",
    "Noticed",
    "PutFile",
    "RemoveFile",
    "RemoveFolder",
    "Sent",
    "Shown",
    "Step",
    "UnheldError",
    "UnsavedQuestion",
    "aside",
    "disk_text",
    "folder_deletion",
    "folder_view",
    "overwritten",
    "put_beside",
    "replaced",
    "sync_names",
    "tell_of_gone_folders",
    "tell_of_new_folders",
    "unsaved_error",
    "unsaved_text",
    "with_other_names",
]
