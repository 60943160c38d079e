"""The dialect of Claude Code's file tools.

Source: the parameters and results that the published types of Anthropic's agent SDK declare.
"""

from __future__ import annotations

from typing import Final

from filetools.tools.answers.offered import Names
from filetools.tools.dialects.claude_code.files import FILES, GROUP
from filetools.tools.dialects.claude_code.searching import SEARCHING
from filetools.tools.dialects.dialect import Dialect

CLAUDE_CODE: Final = Dialect(
    name=GROUP,
    tools=(*FILES, *SEARCHING),
    instructions=(
        "Files of one workspace, shared with people and other agents. Paths may be absolute, inside the root, or relative to"
        " it. A file must be read before Write replaces it. What others changed since is merged, or refused if it overlaps."
    ),
    takes_absolute_paths=True,
    names=Names(
        called={
            "read_file": "Read",
            "write_file": "Write",
            "edit_file": "Edit",
            "list_files": "Glob",
            "search_files": "Glob",
            "grep_files": "Grep",
        },
        actions={
            "IS_A_DIRECTORY": "Use Glob to see which files are in the folder.",
            "VERSION_MISMATCH": "Read the whole file, then repeat the change on its current text.",
            "EDIT_NOT_FOUND": "Read the file and copy old_string from it exactly, without the line numbers.",
            "EDIT_AMBIGUOUS": "Include more of the surrounding lines in old_string, or set replace_all.",
        },
        suggests_paths=True,
    ),
)
