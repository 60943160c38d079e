"""The dialect of OpenAI's `apply_patch`: one operation of the hosted tool, or a whole patch in the Codex text form.

Source: OpenAI's guide to the apply patch tool, and the grammar published for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from filetools.content.patching.file_patch import quoted_name
from filetools.content.patching.patches import parse_patch
from filetools.errors import InvalidArgumentError
from filetools.models.files import PatchedFile
from filetools.printable import printable
from filetools.tools.answers.offered import Names
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.dialect import Dialect, presented, repairs_of
from filetools.tools.tool import Tool, ToolContext

NAME: Final = "apply-patch"
TOOL: Final = "apply_patch"
_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_HEADS: Final = {
    "create_file": "*** Add File: ",
    "update_file": "*** Update File: ",
    "delete_file": "*** Delete File: ",
}
_MOVE: Final = "*** Move to: "
_MARKS: Final = {"add": "A", "delete": "D", "update": "M", "move": "M"}
_NUMBERED: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*")


class HostedOperation(Parameters):
    """What the hosted tool asks for with one call."""

    type: Literal["create_file", "update_file", "delete_file"]
    path: str
    diff: str | None = None
    move_to: Annotated[str | None, Field(description="Of update_file: the new path")] = None


class PatchOrOperation(Parameters):
    """Parameters of apply_patch."""

    patch: Annotated[str | None, Field(description="*** Begin Patch … *** End Patch")] = None
    operation: Annotated[HostedOperation | None, Field(description="Instead of patch: what to do with one file")] = None

    def about(self) -> str | None:
        """Return the path of an operation."""
        return None if self.operation is None else self.operation.path


async def apply_patch(context: ToolContext, given: PatchOrOperation) -> dict[str, Any]:
    """Apply a patch or an operation, all or nothing."""
    if (given.patch is None) == (given.operation is None):
        raise InvalidArgumentError("apply_patch needs either patch or operation")
    text = given.patch if given.operation is None else patch_of(given.operation)
    made = await context.files.apply_patch(text or "")
    rows = "".join(f"{_MARKS[file.kind]} {printable(_named(file))}\n" for file in made.files)
    files = [file.to_dict() for file in made.files]
    return {
        "status": "completed",
        "output": f"Success. Updated the following files:\n{rows}",
        "files": files,
    } | repairs_of(made.warnings)


def patch_of(operation: HostedOperation) -> str:
    """Return an operation as a patch of one file.

    Raises:
        InvalidArgumentError: It has no diff, or its diff is for a file other than its path.
    """
    path = operation.path
    if operation.move_to is not None and operation.type != "update_file":
        raise InvalidArgumentError("Only update_file takes move_to", path=path)
    if any(ord(character) < 32 for character in f"{path}{operation.move_to or ''}"):
        raise InvalidArgumentError("The path of an operation cannot contain control characters")
    if operation.type == "delete_file":
        return _codex(operation, [])
    if operation.diff is None:
        raise InvalidArgumentError(f"Operation {operation.type} needs a diff", path=path)
    # Models also send a whole patch of the file.
    head = _codex(operation, []).removesuffix(f"{_END}\n")
    lines = operation.diff.removeprefix(head).removesuffix("\n").split("\n")
    if lines[-1].strip() == _END:
        lines.pop()
    if lines[0].startswith("--- ") and lines[1:2] and lines[1].startswith("+++ "):
        lines = lines[2:]
    if any(line.startswith("*** ") and line.rstrip() != "*** End of File" for line in lines):
        raise InvalidArgumentError("The diff of an operation has no '*** …' lines: the path names the file", path=path)
    return _created(operation, lines) if operation.type == "create_file" else _updated(operation, lines)


def _created(operation: HostedOperation, lines: Sequence[str]) -> str:
    added = [line for line in lines if not _NUMBERED.fullmatch(line)]
    if added == [""]:
        added = []
    for number, line in enumerate(added, 1):
        if not line.startswith("+"):
            raise InvalidArgumentError(
                f"Line {number} of the diff of a new file does not begin with '+'", path=operation.path
            )
    return _codex(operation, added)


def _updated(operation: HostedOperation, lines: Sequence[str]) -> str:
    if all(line.endswith("\r") for line in lines):  # the file's own line ends count
        lines = [line[:-1] for line in lines]
    if operation.move_to is not None and not any(lines):
        return _codex(operation, [])
    if not any(_NUMBERED.fullmatch(line) for line in lines):
        return _codex(operation, lines)
    unnumbered = ["@@" if _NUMBERED.fullmatch(line) else line for line in lines]
    if operation.move_to is not None:
        return _codex(operation, unnumbered)
    numbered = "\n".join(
        (f"--- {quoted_name(f'a/{operation.path}')}", f"+++ {quoted_name(f'b/{operation.path}')}", *lines, "")
    )
    try:
        parse_patch(numbered)
    except InvalidArgumentError:
        # Models miscount lines; the old lines locate a hunk as well.
        return _codex(operation, unnumbered)
    return numbered


def _codex(operation: HostedOperation, lines: Sequence[str]) -> str:
    moved = [] if operation.move_to is None else [f"{_MOVE}{operation.move_to}"]
    return "\n".join((_BEGIN, f"{_HEADS[operation.type]}{operation.path}", *moved, *lines, _END, ""))


def _named(file: PatchedFile) -> str:
    return file.path if file.old_path is None else f"{file.old_path} -> {file.path}"


APPLY_PATCH: Final = Dialect(
    name=NAME,
    tools=(
        Tool(
            name=TOOL,
            description=(
                "Create, change and delete text files with a patch, all or nothing. A hunk that does not fit changes nothing;"
                " the closest text is shown: copy it exactly and call again."
            ),
            parameters=PatchOrOperation,
            handler=apply_patch,
            group=NAME,
            effect="delete",
            present=presented(lambda data, _: str(data["output"]).removesuffix("\n")),
        ),
    ),
    hosted={"type": "apply_patch"},
    names=Names(
        actions={
            "FILE_EXISTS": "Update the file that is there (update_file, *** Update File:), or choose another path.",
            "IS_A_DIRECTORY": "Name a file in it; a patch changes files only.",
            "FILE_NOT_FOUND": "Check the path; create a new file with the type 'create_file', or *** Add File:.",
        }
    ),
)
