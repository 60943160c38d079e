"""The changes that can go the way of a write, one module a kind."""

from filetools.facade.steps.decision import Decide, Decision, Sent
from filetools.facade.steps.folders import MakeFolder, MoveFolder, RemoveFolder
from filetools.facade.steps.linked import with_other_names
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.parents import UnheldError
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step
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
    "MakeFolder",
    "MoveFile",
    "MoveFolder",
    "PutFile",
    "RemoveFile",
    "RemoveFolder",
    "Sent",
    "Step",
    "UnheldError",
    "UnsavedQuestion",
    "aside",
    "disk_text",
    "overwritten",
    "put_beside",
    "replaced",
    "unsaved_error",
    "unsaved_text",
    "with_other_names",
]
