"""Names that are imported at their first use: the same that a type checker sees, and quick commands because of them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from filetools.cli.commands import COMMANDS
from filetools.deferred import deferred_imports
from tests.support.declared import REPOSITORY

PACKAGES = [
    ".".join(path.relative_to(REPOSITORY).parent.parts)
    for path in sorted((REPOSITORY / "filetools").rglob("__init__.py"))
    if "deferred(" in path.read_text(encoding="utf-8")
]
RUN = """
import json, sys
sys.argv = {arguments!r}
try:
    from filetools.__main__ import main
    main()
except SystemExit:
    pass
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded(folder: Path, *arguments: str, **environment: str) -> set[str]:
    """Return the modules that a command line imports, in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN.format(arguments=["filetools", *arguments])],
        capture_output=True, text=True, check=True, timeout=60, cwd=folder, env={**os.environ, **environment},
    )  # fmt: skip
    return set(json.loads(done.stderr))


def tab(folder: Path, line: str) -> set[str]:
    """Return the modules that are imported while a shell completes a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return loaded(folder, _FILETOOLS_COMPLETE="complete_bash", **words)


def seen_by_type_checkers(package: str) -> Iterator[tuple[str, str]]:
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    for node in (each for block in blocks for each in block.body):
        assert isinstance(node, ast.ImportFrom)
        yield from ((alias.asname or alias.name, f"{node.module}:{alias.name}") for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_deferred_name_is_the_one_that_type_checkers_see(package: str) -> None:
    module = import_module(package)
    known = dict(seen_by_type_checkers(package))
    assert known
    for name, home in known.items():
        place, _, own = home.partition(":")
        assert getattr(module, name) is getattr(import_module(place), own), name
        assert name in dir(module)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_a_package_does_not_have_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        _ = import_module(package).nonsense


def test_the_package_imports_nothing_heavy_until_a_name_is_used(tmp_path: Path) -> None:
    program = "import json, sys, filetools; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert {"asyncio", "pydantic", "sqlite3", "filetools.app"} & set(json.loads(done.stdout)) == set()


def test_the_version_is_told_without_a_command(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--version")
    assert {"typer", "rich", "pydantic", "asyncio", "filetools.models"} & modules == set()


@pytest.mark.parametrize(
    "line", ["filetools ", "filetools l", "filetools ls --", "filetools undo --", "filetools edit a -"]
)
def test_a_shell_completes_a_line_without_what_only_the_work_needs(tmp_path: Path, line: str) -> None:
    modules = tab(tmp_path, line)
    assert "typer" in modules
    assert {"pydantic", "asyncio", "sqlite3", "watchdog", "filetools.app", "filetools.tools"} & modules == set()


def test_a_shell_imports_no_command_to_complete_its_name(tmp_path: Path) -> None:
    parts = {f"filetools.cli.commands.{module}" for module, _ in COMMANDS.values()}
    assert tab(tmp_path, "filetools l") & parts == set()
    assert tab(tmp_path, "filetools ls --") & parts == {"filetools.cli.commands.reading"}


NOT_FOR_READING = (
    "rich", "aiofiles", "watchdog", "filetools.tools", "filetools.app.blocking", "filetools.facade.transactions",
    "filetools.facade.differences",
    "filetools.facade.going_back", "filetools.facade.lines", "filetools.facade.restoring", "filetools.facade.searching",
    "filetools.facade.tree_diff", "filetools.facade.undoing",
    "filetools.journal.rescue", "filetools.journal.salvage", "filetools.models.tree_diff", "filetools.search.contents.grep",
    "filetools.versions.tree_comparison", "filetools.watch.watcher",
)  # fmt: skip
"""What only changing, undoing, searching contents, watching, models and a terminal need, with what lies in it."""


@pytest.mark.parametrize("arguments", [("ls",), ("ls", "--long"), ("read", "file.txt")])
def test_a_command_that_reads_imports_nothing_of_what_others_need(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "file.txt").write_text("one\n")
    modules = loaded(tmp_path, *arguments)
    assert "filetools.facade.facade" in modules
    assert [name for name in modules if name.startswith(tuple(f"{each}." for each in NOT_FOR_READING))] == []
    assert sorted(modules & set(NOT_FOR_READING)) == []


def test_rows_of_a_named_root_are_printed_without_pydantic(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("one\n")
    modules = loaded(tmp_path.parent, "ls", "--root", str(tmp_path))
    assert "filetools.facade.facade" in modules
    assert "pydantic" not in modules


def test_events_are_known_before_their_module_is_imported(tmp_path: Path) -> None:
    program = (
        "from filetools.events.subscriptions import known_pattern; print(known_pattern('sync:started'));"
        "print(known_pattern('buffer:closed'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["sync:started", "buffer:closed"]


def run(program: str, folder: Path) -> list[str]:
    """Return the words that a program prints, in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, cwd=folder
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("names", "use"),
    [
        ("util", "util.guess_scheme({})"),
        ("util as tools", "tools.guess_scheme({})"),
        ("simple_server", "simple_server.WSGIServer"),
    ],
)
def test_a_deferred_module_is_imported_when_a_name_of_it_is_used(tmp_path: Path, names: str, use: str) -> None:
    program = f"""
        import sys, types
        from filetools.deferred import deferred_imports
        deferred_imports(globals(), {{"wsgiref": {names!r}}})
        before = "wsgiref" in sys.modules
        {use}
        name = {names!r}.rpartition(" ")[2]
        print(before, type(globals()[name]).__name__)
    """
    assert run(program, tmp_path) == ["False", "module"]


@pytest.mark.parametrize("use", ["Fraction(1, 2)", "Fraction.from_float(0.5)", "isinstance(0.5, Fraction)"])
def test_a_deferred_class_is_imported_when_it_is_used(tmp_path: Path, use: str) -> None:
    program = f"""
        import sys
        from filetools.deferred import deferred_imports
        deferred_imports(globals(), {{"fractions": "Fraction"}})
        before = "fractions" in sys.modules
        kept = Fraction
        {use}
        print(before, Fraction.__name__, isinstance(kept(1, 2), kept), kept(1, 2) == Fraction(1, 2))
    """
    assert run(program, tmp_path) == ["False", "Fraction", "True", "True"]


def test_a_name_that_was_replaced_meanwhile_stays_replaced() -> None:
    names: dict[str, Any] = {}
    deferred_imports(names, {"operator": "add"})
    kept, names["add"] = names["add"], max
    assert (kept(1, 2), names["add"](1, 2)) == (3, 2)


USERS = {
    path: tree
    for path in sorted((REPOSITORY / "filetools").rglob("*.py"))
    if "import deferred_imports" in (text := path.read_text(encoding="utf-8"))
    for tree in [ast.parse(text)]
}


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_deferred_imports_are_those_that_type_checkers_see(path: Path) -> None:
    for block in (node for node in USERS[path].body if isinstance(node, ast.If) and node.orelse):
        seen = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in block.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for name, place in deferred_in(block.orelse).items():
            assert seen.get(name) == place, name


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_deferred_imports_are_there_and_used_in_the_ways_that_import_them(path: Path) -> None:
    """A class that is inherited from or caught, and a constant, must be there before: they are the names of modules."""
    tree = USERS[path]
    deferred = {
        name: place
        for block in tree.body
        if isinstance(block, ast.If)
        for name, place in deferred_in(block.orelse).items()
    }
    for module, own in deferred.values():
        found = getattr(__import__(module, fromlist=(own,)), own)
        assert callable(found) or isinstance(found, ModuleType), own
    assert {use.id for use in awkward_uses(tree) if use.id in deferred} == set()


def deferred_in(body: list[ast.stmt]) -> dict[str, tuple[str, str]]:
    """Return what is deferred in a block: by name the module, and the name there."""
    found = {}
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            assert ast.unparse(node.value.func) == "deferred_imports"
            for module, names in ast.literal_eval(node.value.args[1]).items():
                for own, _, other in (each.partition(" as ") for each in names.split(", ")):
                    found[other or own] = (module, own)
    return found


def awkward_uses(tree: ast.Module) -> Iterator[ast.Name]:
    """Yield names that are neither called, nor asked for an attribute, nor handed to a function.

    Annotations aside, and names that are also those of parameters and variables.
    """
    local = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    local |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    annotations = {
        inner
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(part, ast.AST)
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        handed = [*node.args, *(each.value for each in node.keywords), node.func] if isinstance(node, ast.Call) else []
        fine = [node.value] if isinstance(node, ast.Attribute) else handed
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name) and child not in annotations and child not in fine and child.id not in local:
                yield child


def test_a_command_imports_neither_the_others_nor_dialects_and_servers(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "ls")
    parts = {f"filetools.cli.commands.{module}" for module, _ in COMMANDS.values()}
    assert modules & parts == {"filetools.cli.commands.reading"}
    assert not [name for name in modules if name.startswith(("filetools.tools.dialects", "filetools.servers", "mcp"))]
