"""The pages that are made from the code: tools, errors, settings. Run as a program, it writes them.

python -m tests.support.reference
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from filetools import errors, settings
from filetools.errors import FileToolsError
from filetools.settings import DescriptorSettings, Settings
from filetools.tools.registry import FILE_TOOLS
from filetools.tools.tool import AnyTool
from tests.support import blocking_stub
from tests.support.declared import REPOSITORY

FOLDER: Final = REPOSITORY / "docs" / "reference"
_MADE: Final = "<!-- Made by `python -m tests.support.reference`; do not edit. -->"


def tools_page() -> str:
    """Return the page of all tools, as models see them."""
    return _page("Tools", _tool_rows(), "What `FileToolsFacade.call_tool()` runs, and `filetools call` prints.")


def errors_page() -> str:
    """Return the page of all errors."""
    about = (
        "Every error is a `filetools.FileToolsError` with `code`, `path`, `retryable`, `suggested_action` and `details`;"
        " the classes are in `filetools.errors`. Where a class has no code of its own, its code is `INTERNAL`."
    )
    rows = ["| Code | Class | Raised when | Retry |", "| --- | --- | --- | --- |"]
    for kind in sorted(_error_classes(), key=lambda kind: (kind.code, kind.__name__)):
        when = _sentence(inspect.getdoc(kind) or "").removeprefix("Raised when ")
        rows.append(f"| `{kind.code}` | `{kind.__name__}` | {when} | {'yes' if kind.retryable else ''} |")
    return _page("Errors", rows, about)


def settings_page() -> str:
    """Return the page of all settings."""
    about = (
        "Given to `filetools.open(…, settings={…})`, as `FILETOOLS_<NAME>` in the environment, or in a `settings.toml`, in"
        " this order: arguments, environment, the user's file for the root, the user's general file. One in the tree only"
        " narrows. `filetools doctor --settings` prints each value with its source. Sizes are in bytes, times in seconds."
    )
    nested = "`file_descriptor` is a table of its own, `[file_descriptor]` in a file; it has no variables."
    rows = [*_fields_of(Settings), "", "## file_descriptor", "", nested, "", *_fields_of(DescriptorSettings)]
    return _page("Settings", rows, about)


def _fields_of(kind: type[Settings | DescriptorSettings]) -> Iterator[str]:
    docs = _field_docstrings(kind)
    yield from ("| Setting | Default | Meaning |", "| --- | --- | --- |")
    for field in fields(kind):
        shown = "see below" if isinstance(field.default, DescriptorSettings) else _shown(field.default)
        yield f"| `{field.name}` | {shown} | {docs.get(field.name, '')} |"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "tools.md": tools_page,
    "errors.md": errors_page,
    "settings.md": settings_page,
}


def write(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")


def _page(title: str, rows: list[str], about: str) -> str:
    return "\n".join((f"# {title}", "", _MADE, "", about, "", *rows)).rstrip() + "\n"


def _tool_rows() -> list[str]:
    rows: list[str] = []
    for tool in FILE_TOOLS:
        rows += [f"## `{tool.name}`", "", tool.description, "", *_parameters(tool), ""]
    return rows


def _parameters(tool: AnyTool) -> Iterator[str]:
    schema = tool.definition()["input_schema"]
    required = schema.get("required", ())
    yield f"Group `{tool.group}`; effect: {tool.effect}."
    yield ""
    yield "| Parameter | Type | Meaning |"
    yield "| --- | --- | --- |"
    for name, each in schema["properties"].items():
        must = " (needed)" if name in required else ""
        yield f"| `{name}`{must} | {_type_of(each)} | {each.get('description', '')} |"


def _type_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"array of {_type_of(schema.get('items', {}))}"
    limits = [f"{words} {schema[key]}" for key, words in (("minimum", "≥"), ("maximum", "≤")) if key in schema]
    return " ".join([kind, *limits])


def _error_classes() -> Iterator[type[FileToolsError]]:
    for name, value in vars(errors).items():
        if (
            inspect.isclass(value)
            and issubclass(value, FileToolsError)
            and value is not FileToolsError
            and name[0] != "_"
        ):
            yield value


def _field_docstrings(model: type[Settings | DescriptorSettings]) -> dict[str, str]:
    tree = ast.parse(inspect.getsource(settings))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == model.__name__)
    found: dict[str, str] = {}
    for field, below in itertools.pairwise(body):
        is_docstring = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_docstring:
            found[field.target.id] = str(ast.literal_eval(below.value))  # type: ignore[attr-defined]  # is an Expr
    return found


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(f"`{each}`" for each in value)
    return f"`{json.dumps(value)}`"


def _sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


if __name__ == "__main__":
    write(FOLDER)
    (REPOSITORY / "filetools" / blocking_stub.PLACE).write_text(blocking_stub.stub(), encoding="utf-8")
