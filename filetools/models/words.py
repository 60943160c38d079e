"""Constants and literal types shared by settings, results and records."""

from __future__ import annotations

from typing import Final, Literal

VERSION_PREFIX: Final = "sha256:"
STATE_DIRECTORY: Final = ".filetools"
STATE_PATH: Final = f"{STATE_DIRECTORY}/state"
"""Path of a root's journal and locks, unless they are kept elsewhere. No tool can access it. It is a separate folder, which
git treats as a repository, so that `git clean` skips it."""

ActorKind = Literal["agent", "editor", "external", "system"]
MirrorStatus = Literal["in_sync", "pending", "off"]
Newline = Literal["lf", "crlf", "cr", "mixed", "none"]
Durability = Literal["commit", "relaxed"]
MirrorPolicy = Literal["eventual", "strict"]
OnConflict = Literal["merge", "cancel", "allow", "ask", "merge_or_ask", "ask_if_attended"]
"""How a write treats an editor's unsaved text; see `FileToolsFacade.write_file`."""
Preset = Literal["allow", "ask", "guarded", "read_only"]
EntryType = Literal["file", "directory", "symlink", "other"]
Row = tuple[str, EntryType, bool]
"""An entry of a listing as a tuple: path, type, and False if the name on disk cannot be written as a path."""
