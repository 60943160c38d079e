"""The dialect of Anthropic's text editor tool, `text_editor_20250728`, and the commands it shares with the memory tool.

Source: Anthropic's documentation of the text editor tool, and the messages of the editor that models were trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Literal

from filetools.content.editing.edits import Edit
from filetools.errors import (
    DirectoryNotFoundError,
    EditAmbiguousError,
    EditNotFoundError,
    FileToolsError,
    InvalidArgumentError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotFoundError,
)
from filetools.models.files import EditResult
from filetools.models.searching import Entry
from filetools.printable import printable
from filetools.tools.answers.nearby import similar_paths
from filetools.tools.answers.seen import TextLimits, clipped
from filetools.tools.arguments import Parameters
from filetools.tools.dialects.dialect import UNSAVED, Dialect, numbered, presented, repairs_of, reworded, snippet
from filetools.tools.handlers.reading import pages
from filetools.tools.tool import Tool, ToolContext


class EditorCommand(Parameters):
    """Parameters of every command; `TAKES` lists those of each."""

    command: str
    path: str | None = None
    view_range: list[int] | None = None
    old_str: str | None = None
    new_str: str | None = None
    file_text: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None


TAKES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "view": (("path",), ("view_range",)),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "create": (("path", "file_text"), ()),
    "insert": (("path", "insert_line"), ("insert_text", "new_str")),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
"""The required and the optional parameters of each command."""


def check(given: EditorCommand) -> None:
    """Check that a command has its required parameters and no others.

    Raises:
        InvalidArgumentError: A parameter is missing or not allowed; names the parameter and the command.
    """
    needed, allowed = TAKES[given.command]
    present = [name for name, value in given if name != "command" and value is not None]
    for name in needed:
        if name not in present:
            raise InvalidArgumentError(f"Parameter `{name}` is required for command: {given.command}")
    for name in present:
        if name not in (*needed, *allowed):
            takes = ", ".join((*needed, *allowed))
            raise InvalidArgumentError(
                f"Parameter `{name}` does not belong to command: {given.command}; it takes {takes}"
            )


LEVELS: Final = 2
MOST_ROWS: Final = 1000
_LOOK: Final = "View the file and repeat the command with text copied from it."
_MORE: Final = "Include more of the surrounding lines."


class Editor:
    """The commands on one path, for one call.

    Args:
        context: The call.
        words: The messages, with placeholders such as `{path}`.
        shown: The path as the caller gave it.
        path: The path in the workspace.
        suggests_paths: True to suggest similar paths of the whole root for a missing path.
    """

    def __init__(
        self, context: ToolContext, words: Mapping[str, str], shown: str, path: str, *, suggests_paths: bool = True
    ) -> None:
        self._files = context.files
        self._words = words
        self._shown = printable(shown)
        self._path = path
        self._suggests_paths = suggests_paths

    async def view(self, view_range: list[int] | None) -> dict[str, Any]:
        """Return lines of a file, or the paths in a folder.

        Raises:
            PathNotFoundError, InvalidArgumentError
        """
        if not self._path.strip("/."):
            return await self.view_folder(view_range)
        first, limit = _range(view_range)
        try:
            read = await self._files.read_file(self._path, offset=first if limit or first > 1 else None, limit=limit)
        except PathIsDirectoryError:
            return await self.view_folder(view_range)
        if read.is_binary:
            raise InvalidArgumentError(f"{self._shown} is binary ({read.mime_type}, {read.size} bytes), not text")
        if first > max(1, read.total_lines or first):
            raise InvalidArgumentError(
                f"Invalid `view_range`: {view_range}. Its first element `{first}` should be within the range of lines of"
                f" the file: [1, {read.total_lines}]"
            )
        return {"path": self._shown, "content": read.content, "first_line": first, "total_lines": read.total_lines}

    async def view_folder(self, view_range: list[int] | None = None) -> dict[str, Any]:
        """Return the paths in a folder, two levels deep, without hidden ones."""
        if view_range is not None:
            raise InvalidArgumentError("The `view_range` parameter is not allowed when `path` points to a directory.")
        rows: list[dict[str, Any]] = []
        async for page in pages(partial(self._files.list_files, self._path, recursive=True, max_depth=LEVELS)):
            rows += filter(None, (_row(entry, page.path) for entry in page.entries))
            if len(rows) > MOST_ROWS:
                break
        return {"path": self._shown, "entries": rows[:MOST_ROWS], "truncated": len(rows) > MOST_ROWS}

    async def create(self, file_text: str) -> dict[str, Any]:
        """Create a file; fail if it exists."""
        try:
            made = await self._files.create_file(self._path, file_text)
        except PathExistsError as error:
            raise reworded(error, self._say("exists"), "View it, and change it with str_replace or insert.") from error
        return {"path": self._shown, "output": self._say("created"), "version": made.version}

    async def replace(self, old: str, new: str) -> dict[str, Any]:
        """Replace text that occurs exactly once."""
        if not old:
            raise InvalidArgumentError("Parameter `old_str` is empty; use insert to add lines")
        try:
            made = await self._files.edit_file(self._path, [Edit(old=old, new=new)])
        except EditNotFoundError as error:
            raise reworded(error, self._say("not_found", old_str=old), _LOOK) from error
        except EditAmbiguousError as error:
            lines = ", ".join(map(str, error.details["lines"]))
            raise reworded(error, self._say("ambiguous", old_str=old, lines=lines), _MORE) from error
        return self._edited("replaced", made)

    async def insert(self, line: int, text: str | None) -> dict[str, Any]:
        """Insert lines after a line; 0 is before the first."""
        if text is None:
            raise InvalidArgumentError("Parameter `insert_text` is required for command: insert")
        try:
            made = await self._files.insert_lines(self._path, line, text)
        except InvalidArgumentError as error:
            total = (await self._files.file_info(self._path)).total_lines
            if total is not None and not 0 <= line <= total:
                raise reworded(error, self._say("insert_line", line=line, total=total)) from error
            raise
        return self._edited("inserted", made)

    async def reword(self, error: FileToolsError) -> None:
        """Give an error about the path this dialect's message."""
        if isinstance(error, PathIsDirectoryError):
            reworded(error, f"The path {self._shown} is not a file.", "View it to see which files are there.")
        elif isinstance(error, PathNotFoundError | DirectoryNotFoundError):
            found = await similar_paths(self._files, error.path or "") if self._suggests_paths else []
            error.details.update({"similar": found} if found else {})
            reworded(error, f"The path {self._shown} does not exist. Please provide a valid path.")

    def _edited(self, word: str, made: EditResult) -> dict[str, Any]:
        output = self._say(word, snippet=snippet(made.structured_patch)).rstrip("\n")
        return {
            "path": self._shown,
            "output": output + (f"\n{UNSAVED}" if made.in_buffer else ""),
            "version": made.version,
            "structured_patch": made.structured_patch,
            **repairs_of(made.warnings),
        }

    def _say(self, word: str, **facts: object) -> str:
        return self._words[word].format(path=self._shown, **facts)


def _range(view_range: list[int] | None) -> tuple[int, int | None]:
    """Return the first line and the number of lines of a range; an end of -1 is the end of the file."""
    if view_range is None:
        return 1, None
    if len(view_range) != 2:
        raise InvalidArgumentError(f"Invalid `view_range`: {view_range}. It should be a list of two integers.")
    first, last = max(1, view_range[0]), view_range[1]
    if last == -1:
        return first, None
    if last < first:
        raise InvalidArgumentError(
            f"Invalid `view_range`: {view_range}. Its second element `{last}` should be larger or equal than its first"
            f" `{first}`"
        )
    return first, last - first + 1


def _row(entry: Entry, folder: str) -> dict[str, Any] | None:
    """Return an entry as shown in the view of a folder; None if it is hidden."""
    path = entry.path[len(folder) + 1 :] if folder else entry.path
    if any(segment.startswith(".") for segment in path.split("/")):
        return None
    return {"path": path + "/" * (entry.type == "directory"), "size": entry.size or 0}


NAME: Final = "text-editor"
TOOL: Final = "str_replace_based_edit_tool"
TYPE: Final = "text_editor_20250728"
WORDS: Final = {
    "created": "File created successfully at: {path}",
    "exists": "File already exists at: {path}. Cannot overwrite files using command `create`.",
    "replaced": (
        "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{snippet}"
        "Review the changes and make sure they are as expected. Edit the file again if necessary."
    ),
    "inserted": (
        "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of the edited file:\n{snippet}"
        "Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file"
        " again if necessary."
    ),
    "not_found": "No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.",
    "ambiguous": (
        "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines {lines}. Please ensure it is"
        " unique"
    ),
    "insert_line": (
        "Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {total}]"
    ),
}


class TextEditorCommand(EditorCommand):
    """Parameters of the text editor."""

    command: Literal["view", "str_replace", "create", "insert"]
    path: str


async def edit_text(context: ToolContext, given: TextEditorCommand) -> dict[str, Any]:
    """Run one command."""
    check(given)
    editor = Editor(context, WORDS, given.path, given.path)
    return await run(editor, given)


async def run(editor: Editor, given: EditorCommand) -> dict[str, Any]:
    """Run one of the four commands, whose parameters are already checked."""
    try:
        if given.command == "view":
            return await editor.view(given.view_range)
        if given.command == "create":
            return await editor.create(given.file_text or "")
        if given.command == "str_replace":
            return await editor.replace(given.old_str or "", given.new_str or "")
        return await editor.insert(given.insert_line or 0, _inserted(given))
    except FileToolsError as error:
        await editor.reword(error)
        raise


def _inserted(given: EditorCommand) -> str | None:
    if None not in (given.insert_text, given.new_str) and given.insert_text != given.new_str:
        raise InvalidArgumentError(
            "`insert_text` and `new_str` are given with different values; give `insert_text` alone"
        )
    return given.new_str if given.insert_text is None else given.insert_text


def shown_lines(data: Mapping[str, Any], limits: TextLimits) -> str:
    """Return the numbered lines of a view and, if they are cut, how to see the rest."""
    first, total = data["first_line"], data["total_lines"]
    text, kept = clipped(numbered(data["content"], first), limits)
    following = None if kept is None else first + kept
    of = "" if total is None else f" of {total}"
    if not text.endswith("\n") and text:
        onwards = "" if total == first else f"; view_range [{following}, -1] shows what is below it"
        text += f"\n[line {first}{of} is too long to show in full{onwards}]\n"
    elif following is not None:
        text += f"[lines {first}-{following - 1}{of}; view_range [{following}, -1] shows the rest]\n"
    return text.removesuffix("\n")


def _shown(data: Mapping[str, Any], limits: TextLimits) -> str:
    if "output" in data:
        return str(data["output"])
    if "entries" in data:
        rows = "".join(f"{data['path'].rstrip('/')}/{entry['path']}\n" for entry in data["entries"])
        more = "[there are more]\n" if data["truncated"] else ""
        head = f"Here's the files and directories up to 2 levels deep in {data['path']}, excluding hidden items:"
        return f"{head}\n{data['path']}\n{rows}{more}".removesuffix("\n")
    return f"Here's the result of running `cat -n` on {data['path']}:\n{shown_lines(data, limits)}"


TEXT_EDITOR: Final = Dialect(
    name=NAME,
    tools=(
        Tool(
            name=TOOL,
            description=(
                "View, create and edit text files. view: a file with line numbers, view_range [first, last], -1 is the end; or"
                " a folder. create: a new file, file_text. str_replace: old_str must appear exactly once, new_str takes its"
                " place. insert: insert_text after line insert_line, 0 is the top."
            ),
            parameters=TextEditorCommand,
            handler=edit_text,
            group=NAME,
            present=presented(_shown),
        ),
    ),
    hosted={"type": TYPE, "name": TOOL},
)
