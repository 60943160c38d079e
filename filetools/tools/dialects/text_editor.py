"""The dialect of Anthropic's text editor tool, `text_editor_20250728`.

Source: Anthropic's documentation of the text editor tool, and the sentences of the editor that models were trained with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

from filetools.errors import InvalidArgumentError
from filetools.tools.dialects.dialect import Dialect, numbered_part, presented
from filetools.tools.dialects.editor_commands import Editor, EditorCommand, Words, check
from filetools.tools.seen import TextLimits
from filetools.tools.tool import Tool, ToolContext

NAME: Final = "text-editor"
TOOL: Final = "str_replace_based_edit_tool"
TYPE: Final = "text_editor_20250728"
WORDS: Final = Words(
    created="File created successfully at: {path}",
    exists="File already exists at: {path}. Cannot overwrite files using command `create`.",
    replaced=(
        "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{snippet}"
        "Review the changes and make sure they are as expected. Edit the file again if necessary."
    ),
    inserted=(
        "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of the edited file:\n{snippet}"
        "Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file"
        " again if necessary."
    ),
    not_found="No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.",
    ambiguous=(
        "No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines {lines}. Please ensure it is"
        " unique"
    ),
    insert_line=(
        "Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {total}]"
    ),
    suggests_paths=True,
)


class TextEditorCommand(EditorCommand):
    """Parameters of the text editor."""

    command: Literal["view", "str_replace", "create", "insert"]
    path: str


async def edit_text(context: ToolContext, given: TextEditorCommand) -> dict[str, Any]:
    """Run one command."""
    check(given)
    editor = Editor(context, WORDS, given.path, given.path)
    return {"command": given.command} | await run(editor, given)


async def run(editor: Editor, given: EditorCommand) -> dict[str, Any]:
    """Run one of the four commands, whose parameters are checked."""
    if given.command == "view":
        return await editor.view(given.view_range)
    if given.command == "create":
        return await editor.create(given.file_text or "")
    if given.command == "str_replace":
        return await editor.replace(given.old_str or "", given.new_str or "")
    return await editor.insert(given.insert_line or 0, _inserted(given))


def _inserted(given: EditorCommand) -> str | None:
    if None not in (given.insert_text, given.new_str) and given.insert_text != given.new_str:
        raise InvalidArgumentError(
            "`insert_text` and `new_str` are given with different values; give `insert_text` alone"
        )
    return given.new_str if given.insert_text is None else given.insert_text


def shown_lines(data: Mapping[str, Any], limits: TextLimits) -> str:
    """Return the lines of a view, numbered, and how to see the rest where they are cut."""
    first, total = data["first_line"], data["total_lines"]
    text, following = numbered_part(data["content"], first, limits)
    if following is not None:
        of = "" if total is None else f" of {total}"
        text += f"[lines {first}-{following - 1}{of}; view_range [{following}, -1] shows the rest]\n"
    return text.removesuffix("\n")


def text_editor(max_characters: int | None = None) -> Dialect:
    """Return the dialect.

    Args:
        max_characters: Most characters of a file that one view shows; part of the definition that a provider gets, too.
    """
    view = partial(_shown, max_characters=max_characters)
    hosted = {"type": TYPE, "name": TOOL}
    return Dialect(
        name=NAME,
        tools=(replace(_TOOL, present=presented(view)),),
        hosted=hosted if max_characters is None else hosted | {"max_characters": max_characters},
    )


def _shown(data: Mapping[str, Any], limits: TextLimits, *, max_characters: int | None) -> str:
    if "output" in data:
        return str(data["output"])
    if "entries" in data:
        rows = "".join(f"{data['path'].rstrip('/')}/{entry['path']}\n" for entry in data["entries"])
        more = "[there are more]\n" if data["truncated"] else ""
        head = f"Here's the files and directories up to 2 levels deep in {data['path']}, excluding hidden items:"
        return f"{head}\n{data['path']}\n{rows}{more}".removesuffix("\n")
    most = limits if max_characters is None else replace(limits, characters=min(limits.characters, max_characters))
    return f"Here's the result of running `cat -n` on {data['path']}:\n{shown_lines(data, most)}"


_TOOL: Final = Tool(
    name=TOOL,
    description=(
        "View, create and edit text files. view: a file with line numbers, view_range [first, last], -1 is the end; or a"
        " folder. create: a new file, file_text. str_replace: old_str must appear exactly once, new_str takes its place."
        " insert: insert_text after line insert_line, 0 is the top."
    ),
    parameters=TextEditorCommand,
    handler=edit_text,
    group=NAME,
)
TEXT_EDITOR: Final = text_editor()
