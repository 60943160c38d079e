"""The rules of the house hold in every module, and each of them says no to what was planted to break it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import house_rules as house
from tests.support.declared import REPOSITORY
from tests.support.house_rules import Module, Rule, disk_accesses, modules

PLANTED: list[tuple[Rule, str, str]] = [
    (house.stands_on_its_floor, "stores/local.py", "from filetools.facade import Runner"),
    (house.stands_on_its_floor, "stores/local.py", "import filetools.changes.steps.pipeline"),
    (house.stands_on_its_floor, "stores/local.py", "from filetools.locks import LockTable"),
    (house.stands_on_its_floor, "stores/local.py", "from ..locks import LockTable"),
    (house.stands_on_its_floor, "stores/local.py", "def f():\n    from filetools.writer import Recovery"),
    (house.stands_on_its_floor, "stores/local.py", "if TYPE_CHECKING:\n    from filetools.writer import Recovery"),
    (house.stands_on_its_floor, "changes/steps/pipeline.py", "from filetools import open"),
    (house.stands_on_its_floor, "models.py", "from filetools.errors import FileToolsError"),
    (house.stands_on_its_floor, "errors.py", "from filetools.paths import Workspace"),
    (house.stands_on_its_floor, "servers/http.py", "from filetools.journal import Journal"),
    (house.stands_on_its_floor, "__main__.py", "from filetools.app import open_workspace"),
    (house.stands_on_its_floor, "attic/boxes.py", ""),
    (house.is_named_after_a_thing, "stores/utils.py", ""),
    (house.is_named_after_a_thing, "common/names.py", ""),
    (house.is_named_after_a_thing, "stores/local.py", "class LockManager: ..."),
    (house.is_named_after_a_thing, "stores/local.py", "def f():\n    class PathUtils: ..."),
    (house.leaves_packages_to_their_owner, "changes/steps/pipeline.py", "from pyee.asyncio import AsyncIOEventEmitter"),
    (house.leaves_packages_to_their_owner, "journal/records.py", "import sqlite3"),
    (house.imports_only_what_is_declared, "changes/steps/pipeline.py", "import requests"),
    (house.imports_only_what_is_declared, "changes/steps/pipeline.py", "from rich.text import Text"),
    (
        house.imports_only_what_is_declared,
        "search/names.py",
        "try:\n    import rocher\nexcept ImportError:\n    rocher = None",
    ),
    (house.imports_only_what_is_declared, "cli/app.py", "import fastapi"),
    (house.leaves_the_environment_alone, "app/opening.py", "import os\nos.environ['HOME']"),
    (house.leaves_the_environment_alone, "cli/app.py", "from os import environ"),
    (house.prints_only_at_the_door, "changes/steps/pipeline.py", "print('here')"),
    (house.prints_only_at_the_door, "changes/steps/pipeline.py", "show = print"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "open('a.txt')"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "import os\nos.rename('a', 'b')"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "from os import rename"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "import shutil"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "import io\nio.open('a')"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "path.read_text()"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "(folder / name).stat()"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "Path(name).open()"),
    (house.is_read_in_one_sitting, "changes/steps/pipeline.py", "x = 1\n" * 501),
    (house.is_read_in_one_sitting, "changes/steps/pipeline.py", "def f() -> None:\n" + "    x = 1\n" * 60),
]

ALLOWED: list[tuple[Rule, str, str]] = [
    (house.stands_on_its_floor, "changes/steps/pipeline.py", "from filetools.writer import Recovery"),
    (house.stands_on_its_floor, "changes/steps/pipeline.py", "from filetools.changes.parts import Parts"),
    (house.stands_on_its_floor, "cli/app.py", "from filetools.servers import serve"),
    (house.stands_on_its_floor, "__init__.py", "from filetools.app import open_workspace as open"),
    (house.is_named_after_a_thing, "sync/manager.py", "class SyncManager: ..."),
    (house.leaves_packages_to_their_owner, "events/bus.py", "from pyee.base import EventEmitter"),
    (house.imports_only_what_is_declared, "search/names.py", "def f():\n    import rocher"),
    (house.imports_only_what_is_declared, "cli/app.py", "import click"),
    (house.leaves_the_environment_alone, "settings.py", "import os\nos.environ['HOME']"),
    (house.prints_only_at_the_door, "cli/app.py", "print('here')"),
    (house.leaves_files_to_the_stores, "stores/local.py", "import os\nos.rename('a', 'b')"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "parts.store.open(path)"),
    (house.leaves_files_to_the_stores, "changes/steps/pipeline.py", "text.replace('a', 'b')"),
    (house.is_read_in_one_sitting, "changes/steps/pipeline.py", 'def f() -> None:\n    """' + "a\n" * 100 + '"""\n'),
]


@pytest.mark.parametrize(("rule", "place", "source"), PLANTED)
def test_a_planted_fault_is_found(rule: Rule, place: str, source: str) -> None:
    assert rule(Module(place, source)) != []


@pytest.mark.parametrize(("rule", "place", "source"), ALLOWED)
def test_what_the_rule_allows_is_no_fault(rule: Rule, place: str, source: str) -> None:
    assert rule(Module(place, source)) == []


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds_in_every_module(rule: Rule) -> None:
    assert [fault for module in modules() for fault in rule(module)] == []


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(house.RULES)


def test_all_modules_are_looked_at() -> None:
    found = {module.place for module in modules()}
    assert {
        "__init__.py",
        "__main__.py",
        "changes/steps/pipeline.py",
        "cli/demo/play.py",
        "changes/steps/files.py",
    } <= found


def test_no_exception_has_outlived_its_reason() -> None:
    """Whoever is allowed to touch files, to borrow a package, to import sideways or to be long still does."""
    present = modules()
    for entry in house.DISK:
        users = [module for module in present if house.stands_for(entry, module.place)]
        assert any(disk_accesses(module) for module in users), entry
    sideways = {
        (module.unit, name.split(".")[1]) for module in present for _, name in module.imports() if is_inner(name)
    }
    assert set(house.SIDEWAYS) <= sideways
    assert set(house.LENT) <= {
        (module.place, name.partition(".")[0]) for module in present for _, name in module.imports()
    }
    long = {module.place for module in present if module.source.count("\n") > house.LINES_OF_MODULE}
    assert set(house.LONG_MODULES) <= long


def is_inner(name: str) -> bool:
    return name.startswith(f"{house.PACKAGE}.")


def test_the_documented_floors_are_the_enforced_ones() -> None:
    rows = [line for line in (REPOSITORY / "docs/architecture.md").read_text().splitlines() if line.startswith("| ")]
    told = {row.split("|")[1].strip(): set(backticked(row.split("|")[2])) for row in rows}
    for level, units in enumerate(house.FLOORS[:-1]):
        present = {unit for unit in units if is_there(unit)}
        assert told[str(level)] == present


def backticked(text: str) -> list[str]:
    return text.split("`")[1::2]


def is_there(unit: str) -> bool:
    place = Path(REPOSITORY, house.PACKAGE, unit)
    return place.is_dir() or place.with_suffix(".py").is_file()
