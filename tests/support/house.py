"""Measures of size and shape, which `tests/test_house.py` compares with the ceilings in `tests/house.toml`.

`python -m tests.support.house` prints the measures of today in the form of that file.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, TypeGuard

from tests.support.declared import REPOSITORY

PACKAGE: Final = "filetools"
MOST_MODULES: Final = 15
"""In one folder."""
FEWEST_STATEMENTS: Final = 30
"""A module with one importer in its own folder has at least as many."""
_PYTHON: Final = frozenset({"os", "sys", "asyncio", "threading"})
"""Modules of Python itself, some of whose functions look private: `os._exit`."""
INSIDE: Final = "tests/support/inside.py"
"""The one module of the tests that may use private attributes."""
_DATA: Final = "filetools/cli/demo/project/"
"""Python files that the demo copies: data of the package, not code."""
Sources = Mapping[str, str]
"""Source text by path in the repository, such as "filetools/stores/local.py"."""


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a source's syntax tree, the tree itself first. Each source is taken apart once a process."""
    return tuple(ast.walk(ast.parse(source)))


@cache
def sources(folder: str) -> Sources:
    """Return the Python sources below a folder of the repository."""
    found = sorted((REPOSITORY / folder).rglob("*.py"))
    places = {path.relative_to(REPOSITORY).as_posix(): path for path in found}
    return {place: path.read_text(encoding="utf-8") for place, path in places.items() if not place.startswith(_DATA)}


def statements(source: str) -> int:
    """Count statements of the syntax tree, docstrings aside."""
    return sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in nodes(source))


def code_lines(source: str) -> int:
    """Count lines with a token that is neither comment nor docstring."""
    lines = enumerate(source.splitlines(), 1)
    used = {number for number, line in lines if line.strip() and not line.lstrip().startswith("#")}
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):  # not kept: all trees of the tests together are a million objects
        if isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno:
            used.update(range(node.lineno, (node.end_lineno or 0) + 1))  # blank lines of a text count
        elif isinstance(node, ast.Expr) and _is_docstring(node):
            docstrings.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(used - docstrings)


def words(folder: Path) -> int:
    """Count words of all Markdown files below a folder."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in folder.rglob("*.md"))


def by_package(of: Sources, measure: Callable[[str], int]) -> Counter[str]:
    """Add up a measure by top-level package; modules beside the packages count as "top"."""
    total: Counter[str] = Counter()
    for place, source in of.items():
        parts = PurePosixPath(place).parts
        total[parts[1] if len(parts) > 2 else "top"] += measure(source)
    return total


def full_folders(of: Sources) -> list[str]:
    """Return each module above the 15 that a folder may have."""
    folders: defaultdict[PurePosixPath, list[str]] = defaultdict(list)
    for place in of:
        if not place.endswith("__init__.py"):
            folders[PurePosixPath(place).parent].append(place)
    return [place for found in folders.values() for place in sorted(found)[MOST_MODULES:]]


def shared_class_names(of: Sources) -> list[str]:
    """Return the class names that stand in more than one module."""
    names = Counter(
        name
        for source in of.values()
        for name in {node.name for node in nodes(source) if isinstance(node, ast.ClassDef)}
    )
    return sorted(name for name, times in names.items() if times > 1)


def lonely_modules(of: Sources) -> list[str]:
    """Return the small modules whose only importer is in the same folder."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for place, source in of.items():
        for name in _imported(source):
            importers[name].add(place)
    return [
        place
        for place, source in of.items()
        if not place.endswith("__init__.py")
        and statements(source) < FEWEST_STATEMENTS
        and len(users := importers[_dotted(place)] - {place}) == 1
        and PurePosixPath(*users).parent == PurePosixPath(place).parent
    ]


def assignments_from_outside(of: Sources) -> list[str]:
    """Return each assignment to an attribute of another object: `other.name = value`."""
    return [
        f"{place}:{target.lineno} {ast.unparse(target)}"
        for place, source in of.items()
        for node in nodes(source)
        for target in _targets(node)
        if isinstance(target, ast.Attribute) and not _is_own(target.value)
    ]


def stand_ins(of: Sources) -> list[str]:
    """Return each class that answers for attributes it does not have; one that only says why not is none."""
    return [
        f"{place}:{node.lineno} {node.name}"
        for place, source in of.items()
        for node in nodes(source)
        if isinstance(node, ast.ClassDef)
        and any(
            isinstance(each, ast.FunctionDef) and each.name == "__getattr__" and _returns(each)
            for each in ast.walk(node)
        )
    ]


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(function))


def private_reaches(of: Sources) -> list[str]:
    """Return each use of a private attribute or name of the product outside of `tests/support/inside.py`."""
    return [
        f"{place}:{line} {name}"
        for place, source in of.items()
        if place != INSIDE and re.search(r"\b_[a-zA-Z]", source)
        for line, name in _private_uses(nodes(source))
    ]


def unknown_fields(of: Sources) -> list[str]:
    """Names in `replace(record, name=…)` that are no field of any class: the type checker takes them all."""
    found = [(place, node) for place, source in of.items() for node in nodes(source)]
    bodies = [node.body for _, node in found if isinstance(node, ast.ClassDef)]
    fields = {ast.unparse(line.target) for body in bodies for line in body if isinstance(line, ast.AnnAssign)}
    return [
        f"{place}:{node.lineno} replaces {each.arg}"
        for place, node in found
        if isinstance(node, ast.Call) and node.keywords and ast.unparse(node.func) in ("replace", "structs.replace")
        for each in node.keywords
        if each.arg is not None and each.arg not in fields
    ]


SHAPES: Final[Mapping[str, tuple[Callable[[Sources], list[str]], str]]] = {
    "full_folders": (full_folders, PACKAGE),
    "shared_class_names": (shared_class_names, PACKAGE),
    "lonely_modules": (lonely_modules, PACKAGE),
    "assignments_from_outside": (assignments_from_outside, PACKAGE),
    "stand_ins": (stand_ins, PACKAGE),
    "private_reaches": (private_reaches, "tests"),
    "unknown_fields": (unknown_fields, PACKAGE),
}
"""What should be 0, by its name in the ceilings, and the folder in which it is counted."""


def measured() -> dict[str, dict[str, int]]:
    """Return all measures of today, by table and key of the ceilings."""
    package = sources(PACKAGE)
    return {
        "statements": dict(by_package(package, statements)),
        "modules": dict(by_package(package, lambda _: 1)),
        "code_lines": {folder: sum(map(code_lines, sources(folder).values())) for folder in ("tests", "benchmarks")},
        "words": {"documents": words(REPOSITORY / "docs") + len((REPOSITORY / "README.md").read_text().split())},
        "excess": {name: len(rule(sources(folder))) for name, (rule, folder) in SHAPES.items()},
    }


def faults(found: Mapping[str, Mapping[str, int]], ceilings: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return what is above its ceiling, more than 3 % below it, or without one."""
    lines = []
    for table in found.keys() | ceilings.keys():
        counts, limits = found.get(table, {}), ceilings.get(table, {})
        for key in sorted(counts.keys() | limits.keys()):
            count, limit = counts.get(key, 0), limits.get(key)
            if limit is None:
                lines.append(f"{table}.{key} is {count} and has no ceiling")
            elif count > limit:
                lines.append(f"{table}.{key} is {count}, above its ceiling of {limit}")
            elif count < limit * 0.97:
                lines.append(f"{table}.{key} is {count}: lower its ceiling of {limit}")
    return sorted(lines)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _dotted(place: str) -> str:
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(source: str) -> Iterator[str]:
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        waiting: list[ast.expr] = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        waiting = [node.target]
    else:
        return
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        else:
            yield target


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _private_uses(found: tuple[ast.AST, ...]) -> Iterable[tuple[int, str]]:
    own = {
        name
        for node in found
        for name in (
            [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            else [node.attr] if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value)
            else []
        )
    }  # fmt: skip
    for node in found:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node.value):
            if node.attr not in own and ast.unparse(node.value) not in _PYTHON:
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            yield from ((node.lineno, alias.name) for alias in node.names if _is_private(alias.name))
        elif _is_private_target(node):
            yield node.lineno, ast.unparse(node)


def _is_private_target(node: ast.AST) -> TypeGuard[ast.Constant]:
    """True for the dotted name of something private, as `monkeypatch.setattr` takes it."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value.startswith(f"{PACKAGE}.") and re.fullmatch(r"[\w.]*\._[a-zA-Z]\w*", node.value) is not None


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


if __name__ == "__main__":
    for title, counts in measured().items():
        rows = "".join(f"{name} = {count}\n" for name, count in sorted(counts.items()))
        print(f"\n[{title}]\n{rows}", end="")  # noqa: T201 - a program that prints
