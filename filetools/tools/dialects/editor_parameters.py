"""What commands of the text editor and the memory take, and the sentences in which each of them answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from filetools.errors import InvalidArgumentError
from filetools.tools.arguments import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The sentences of one dialect, with `{path}` and what else belongs in each."""

    created: str
    exists: str
    replaced: str
    inserted: str
    not_found: str
    ambiguous: str
    insert_line: str
    suggests_paths: bool
    """Whether a path that leads nowhere is answered with paths of the whole root."""


class EditorCommand(Parameters):
    """Parameters of every command; which of them one takes stands in `TAKES`."""

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
"""What each command needs, and what it may have besides."""


def check(given: EditorCommand) -> None:
    """Refuse parameters that a command lacks, or that belong to another one.

    Raises:
        InvalidArgumentError: Names the parameter and the command.
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
