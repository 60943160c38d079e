"""The package, its tests and its documents stay below their ceilings, and the ceilings follow them down."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.support import house
from tests.support.declared import REPOSITORY
from tests.support.house import Sources

CEILINGS: Final[dict[str, dict[str, int]]] = tomllib.loads((REPOSITORY / "tests" / "house.toml").read_text())
SMALL: Final = "x = 1\n" * (house.FEWEST_STATEMENTS - 1)

PLANTED: Final[list[tuple[Callable[[Sources], list[str]], Sources]]] = [
    (house.full_folders, {f"filetools/stores/m{number}.py": "" for number in range(16)}),
    (house.shared_class_names, {"filetools/a.py": "class Entry: ...", "filetools/b.py": "class Entry: ..."}),
    (house.lonely_modules, {"filetools/a/b.py": SMALL, "filetools/a/c.py": "from filetools.a.b import x"}),
    (house.lonely_modules, {"filetools/a/b.py": SMALL, "filetools/a/c.py": "from filetools.a import b"}),
    (house.lonely_modules, {"filetools/a/b.py": SMALL, "filetools/a/c.py": "def f():\n    import filetools.a.b"}),
    (house.assignments_from_outside, {"filetools/a.py": "def f(runner):\n    runner.precede = print"}),
    (house.assignments_from_outside, {"filetools/a.py": "class A:\n def f(self):\n  self.b.c, x = 1, 2"}),
    (house.assignments_from_outside, {"filetools/a.py": "def f(x):\n    x.count += 1"}),
    (house.stand_ins, {"filetools/a.py": "class A:\n    def __getattr__(self, name): return 1"}),
    (house.private_reaches, {"tests/test_a.py": "assert files._runner"}),
    (house.private_reaches, {"tests/test_a.py": "from filetools.stores.local import _sync"}),
    (house.private_reaches, {"tests/test_a.py": "patch('filetools.stores.system._PREADV', 1)"}),
    (house.unknown_fields, {"filetools/a.py": "class A:\n b: int\nstructs.replace(a, b=1, c=2)"}),
]
ALLOWED: Final[list[tuple[Callable[[Sources], list[str]], Sources]]] = [
    (house.full_folders, {f"filetools/stores/m{number}.py": "" for number in range(15)}),
    (house.shared_class_names, {"filetools/a.py": "class Entry: ...", "filetools/b.py": "class Row: ..."}),
    (house.lonely_modules, {"filetools/a/b.py": SMALL + "y = 1\n", "filetools/a/c.py": "from filetools.a.b import x"}),
    (house.lonely_modules, {"filetools/a/b.py": SMALL, "filetools/d/c.py": "from filetools.a.b import x"}),
    (
        house.lonely_modules,
        dict.fromkeys(
            ("filetools/a/b.py", "filetools/a/c.py", "filetools/a/d.py"), SMALL + "from filetools.a.b import x"
        ),
    ),
    (house.assignments_from_outside, {"filetools/a.py": "class A:\n def f(self):\n  self.b = 1"}),
    (house.stand_ins, {"filetools/__init__.py": "def __getattr__(name): return 1"}),
    (house.stand_ins, {"filetools/a.py": "class A:\n    def __getattr__(self, name): raise AttributeError"}),
    (house.private_reaches, {"tests/support/inside.py": "runner = files._runner"}),
    (house.private_reaches, {"tests/test_a.py": "class A:\n def _f(self): ...\nA()._f()"}),
    (house.private_reaches, {"tests/test_a.py": "import os\nos._exit(files.__class__)"}),
    (house.unknown_fields, {"filetools/a.py": "class A:\n b: int\nreplace(a, b=1, **c), day.replace(tzinfo=UTC)"}),
]


def test_everything_is_below_its_ceiling_and_not_far_below() -> None:
    assert house.faults(house.measured(), CEILINGS) == []


@pytest.mark.parametrize(("rule", "planted"), PLANTED)
def test_a_planted_fault_is_found(rule: Callable[[Sources], list[str]], planted: Sources) -> None:
    assert len(rule(planted)) == 1


@pytest.mark.parametrize(("rule", "allowed"), ALLOWED)
def test_what_a_rule_allows_is_not_a_fault(rule: Callable[[Sources], list[str]], allowed: Sources) -> None:
    assert rule(allowed) == []


def test_every_rule_has_a_planted_fault_and_a_ceiling() -> None:
    rules = {rule for rule, _ in house.SHAPES.values()}
    assert {rule for rule, _ in PLANTED} == rules == {rule for rule, _ in ALLOWED}
    assert CEILINGS["excess"].keys() == house.SHAPES.keys()


@pytest.mark.parametrize(
    ("count", "fault"),
    [
        (101, "t.a is 101, above its ceiling of 100"),
        (100, None),
        (97, None),
        (96, "t.a is 96: lower its ceiling of 100"),
    ],
)
def test_a_measure_may_not_exceed_its_ceiling_or_fall_far_below_it(count: int, fault: str | None) -> None:
    assert house.faults({"t": {"a": count}}, {"t": {"a": 100}}) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("found", "ceilings", "fault"),
    [
        ({"t": {"new": 1}}, {"t": {}}, "t.new is 1 and has no ceiling"),
        ({"t": {}}, {"t": {"gone": 5}}, "t.gone is 0: lower its ceiling of 5"),
        ({"t": {"a": 0}}, {"t": {"a": 1}}, "t.a is 0: lower its ceiling of 1"),
    ],
)
def test_every_measure_has_a_ceiling_and_every_ceiling_a_measure(found: Any, ceilings: Any, fault: str) -> None:
    assert house.faults(found, ceilings) == [fault]


def test_docstrings_and_comments_are_free() -> None:
    source = '"""Text."""\n\n\ndef f() -> None:\n    """Text."""\n    # Reason.\n    return\n'
    assert (house.statements(source), house.code_lines(source)) == (2, 2)


def test_a_crammed_line_counts_each_statement() -> None:
    assert house.statements("a = 1; b = 2") == 2
