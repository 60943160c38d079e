"""Fixed words that settings, results and records share."""

from __future__ import annotations

from typing import Final, Literal

VERSION_PREFIX: Final = "sha256:"
STATE_DIRECTORY: Final = ".filetools"
STATE_PATH: Final = f"{STATE_DIRECTORY}/state"
"""Where a root keeps its state: in a folder of its own, which git takes for a repository and `git clean` passes over."""
"""Where a root keeps its journal and its locks, unless they are kept elsewhere; no tool reaches into it."""

ActorKind = Literal["agent", "editor", "external", "system"]
MirrorStatus = Literal["in_sync", "pending", "off"]
Newline = Literal["lf", "crlf", "cr", "mixed", "none"]
Durability = Literal["commit", "relaxed"]
MirrorPolicy = Literal["eventual", "strict"]
OnConflict = Literal["merge", "cancel", "allow", "ask", "merge_or_ask", "ask_if_attended"]
"""What a write does about an editor's unsaved text; see `FileToolsFacade.write_file`."""
Preset = Literal["allow", "ask", "guarded", "read_only"]
EntryType = Literal["file", "directory", "symlink", "other"]
Row = tuple[str, EntryType, bool]
"""An entry of a listing without a model: path, type, and False where the name on disk cannot be written as a path."""
