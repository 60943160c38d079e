"""The stub of the blocking facade, made from the sources of the async classes."""

from __future__ import annotations

import ast
import copy
import inspect
import sys
from collections.abc import Iterator
from typing import Final

import filetools.app.blocking  # noqa: F401 - makes the fronts
from filetools.app.fronts import Front
from filetools.app.opening import Opening, open_workspace

PLACE: Final = "app/blocking.pyi"
_MADE: Final = '"""Made by `python -m tests.support.reference`; do not edit."""\n\nimport threading'
_OTHER_TYPES: Final = {"AsyncIterator": "Iterator", "AsyncGenerator": "Iterator", "asyncio.Event": "threading.Event"}
_FIELDS: Final = {
    "FileToolsFacade": {"actor": "Actor"},
    "Transaction": {"actor": "Actor"},
    "OpenedFile": {"path": "WorkspacePath", "version": "str"},
    "DescriptorCalls": {"settings": "DescriptorSettings"},
    "Upload": {"size": "int"},
    "Subscription": {"pattern": "str"},
}
"""Fields that are set in `__init__`."""
_BASE: Final = {
    "Actor": "filetools.models",
    "DescriptorSettings": "filetools.settings",
    "WorkspacePath": "filetools.paths.workspace_path",
}
_OWN: Final = (
    ("Iterator[", "Iterator", "collections.abc"),
    ("AbstractContextManager[", "AbstractContextManager", "contextlib"),
)
"""What the stub uses and the sources do not import: how it is recognised, its name, its module."""
Imports = dict[str, str]
"""The module of each name."""


def stub() -> str:
    """Return the text of the stub."""
    imports = dict(_BASE)
    classes = [_class(of, front, imports) for of, front in Front.fronts.items()]
    opening = _opening(imports)
    modules: dict[str, list[str]] = {}
    for name, module in imports.items():
        modules.setdefault(module, []).append(name)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(modules.items())]
    return "\n".join((_MADE, *lines, "", *classes, opening, ""))


def _class(of: type, front: type[Front], imports: Imports) -> str:
    fields = [f"    {name}: {kind}" for name, kind in _FIELDS.get(of.__name__, {}).items()]
    lines = [f"class {front.__name__}:", *fields]
    seen: set[str] = set()
    for cls in of.__mro__[:-1]:
        names = _imports_of(cls.__module__)
        for node in _methods(cls):
            is_ours = not node.name.startswith("_") or node.name in ("__aenter__", "__aexit__")
            if is_ours and node.name not in seen:
                lines.append(_method(node, imports, names))
            seen.add(node.name)
    return "\n".join((*lines, ""))


def _opening(imports: Imports) -> str:
    (node,) = (each for each in _tree(open_workspace.__module__).body if getattr(each, "name", "") == "open_workspace")
    assert isinstance(node, ast.FunctionDef)
    node = copy.deepcopy(node)
    node.name, node.returns = "open_sync", ast.Name("BlockingOpening")
    names = _imports_of(open_workspace.__module__)
    enter = "    def __enter__(self) -> BlockingFacade: ..."
    (leave,) = (each for each in _methods(Opening) if each.name == "__aexit__")
    return "\n".join(
        ("class BlockingOpening:", enter, _method(leave, imports, names), "", _function(node, imports, names))
    )


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, imports: Imports, names: dict[str, str]) -> str:
    node = copy.deepcopy(node)
    node.name = {"__aenter__": "__enter__", "__aexit__": "__exit__"}.get(node.name, node.name)
    decorators = {ast.unparse(each) for each in node.decorator_list}
    text = _function(node, imports, names, is_block="asynccontextmanager" in decorators)
    lines = ["@property", text] if "property" in decorators else [text]
    return "\n".join(f"    {line}" for line in "\n".join(lines).splitlines())


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, imports: Imports, names: dict[str, str], *, is_block: bool = False
) -> str:
    for values in (node.args.defaults, node.args.kw_defaults):
        for place, value in enumerate(values):
            if value is not None:
                values[place] = ast.Constant(...)
    annotations = [each.annotation for each in (*node.args.args, *node.args.kwonlyargs)] + [node.returns]
    for annotation in filter(None, annotations):
        for name in ast.walk(annotation):
            if isinstance(name, ast.Name) and name.id in names:
                imports.setdefault(name.id, names[name.id])
    text = f"def {node.name}({ast.unparse(node.args)}) -> {_returned(node, is_block)}: ..."
    for async_type, plain in _OTHER_TYPES.items():
        text = text.replace(async_type, plain)
    for of, front in Front.fronts.items():
        text = _renamed(text, of.__name__, front.__name__)
    imports |= {name: module for found, name, module in _OWN if found in text}
    return text


def _returned(node: ast.FunctionDef | ast.AsyncFunctionDef, is_block: bool) -> str:
    assert node.returns is not None, node.name
    text = ast.unparse(node.returns)
    if isinstance(node.returns, ast.Subscript) and text.startswith("AsyncGenerator["):
        text = f"AsyncIterator[{text.removeprefix('AsyncGenerator[').rpartition(',')[0]}]"
    return text.replace("AsyncIterator[", "AbstractContextManager[") if is_block else text


def _renamed(text: str, name: str, other: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = other
    return ast.unparse(tree).replace(":\n    ...", ": ...")


def _methods(cls: type) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    (node,) = (
        each for each in _tree(cls.__module__).body if isinstance(each, ast.ClassDef) and each.name == cls.__name__
    )
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def _imports_of(module: str) -> dict[str, str]:
    """Return for each name that a module has the module to import it from."""
    names: dict[str, str] = {}
    nodes = _tree(module).body
    # What is imported for type checkers only stands in a block of its own.
    for node in [*nodes, *(each for block in nodes if isinstance(block, ast.If) for each in block.body)]:
        match node:
            case ast.ImportFrom(module=origin, names=imported):
                names |= {each.name: str(origin) for each in imported}
            case (
                ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                names[name] = module
            case _:
                pass
    # What has a front is called by its name, and what only async code uses is not imported.
    unused = {of.__name__ for of in Front.fronts} | {"AsyncIterator", "AsyncGenerator"}
    return {name: origin for name, origin in names.items() if name not in unused}


def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))
