"""Long texts under short names: descriptors that a model reads in pages, and what it is told about them.

The frames, names and defaults are those of llmproc's file descriptors, so that prompts written for them work here.
"""

from filetools.descriptors.configuration import Configuration, checked, configured
from filetools.descriptors.descriptors import Descriptors
from filetools.descriptors.frames import Frame, error_frame
from filetools.descriptors.memory import JournalTexts, MemoryTable, MemoryTexts
from filetools.descriptors.prompts import instructions
from filetools.descriptors.references import Reference, find_references
from filetools.descriptors.rows import DescriptorInfo, Source

__all__ = [
    "Configuration",
    "DescriptorInfo",
    "Descriptors",
    "Frame",
    "JournalTexts",
    "MemoryTable",
    "MemoryTexts",
    "Reference",
    "Source",
    "checked",
    "configured",
    "error_frame",
    "find_references",
    "instructions",
]
