"""The changes that can go the way of a write, one module a kind."""

from filetools.facade.steps.decision import Decide, Decision, Sent, Shown
from filetools.facade.steps.folders import FolderStep, MakeFolder, MoveFolder, RemoveFolder
from filetools.facade.steps.linked import with_other_names
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.parents import UnheldError, folder_change, folder_deletion
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

__all__ = [
    "Decide",
    "Decision",
    "FolderStep",
    "MakeFolder",
    "MoveFile",
    "MoveFolder",
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
    "folder_change",
    "folder_deletion",
    "overwritten",
    "put_beside",
    "replaced",
    "sync_names",
    "unsaved_error",
    "unsaved_text",
    "with_other_names",
]
