"""The changes that can go the way of a write, one module a kind."""

from filetools.facade.steps.folders import MakeFolder, MoveFolder, RemoveFolder
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.parents import UnheldError
from filetools.facade.steps.put import Decision, PutFile, Sent
from filetools.facade.steps.remove import RemoveFile
from filetools.facade.steps.step import Step

__all__ = [
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
]
