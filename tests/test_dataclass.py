"""Records whose methods are made at first use behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

import filetools.dataclass

LATE: Any = filetools.dataclass.dataclass
"""As a decorator that type checkers do not take for the one of the standard library."""
OPTIONS = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {"slots": True, "eq": False},
    {},
]


def point(decorator: Any, **options: bool) -> Any:
    @decorator(**options)
    class Point:
        x: int
        y: int = 0
        tags: list[str] = field(default_factory=list, compare=False)
        hidden: str = field(default="secret", repr=False)
        total: int = field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    return Point


def spatial(decorator: Any, **options: bool) -> Any:
    base: type[Any] = point(decorator, **options)

    @decorator(**options)
    class Spatial(base):  # type: ignore[misc]  # a base that is no name
        z: int = 5

        def __repr__(self) -> str:
            return f"<{self.x} {self.y} {self.z}>"

    return Spatial


def outcome(work: Callable[[], object]) -> object:
    try:
        return work()
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


def told(kind: Any) -> list[object]:
    """Return what can be seen of a kind of record and of its objects."""
    one, same, other = kind(x=1, y=2), kind(x=1, y=2, tags=["a"]), kind(x=2)
    return [
        repr(one).rpartition(".")[2],
        one.total, one.tags is not same.tags, one == same, one == other, one == (1, 2), one != same,
        outcome(lambda: hash(one) == hash(same)), outcome(lambda: hash(other) == hash(one)),
        outcome(lambda: setattr(one, "x", 3)), outcome(lambda: setattr(one, "new", 3)) is None,
        outcome(lambda: delattr(other, "y")),
        outcome(lambda: kind()), outcome(lambda: kind(1, 2).y), outcome(lambda: kind(x=1, w=2)),
        outcome(lambda: (copy.deepcopy(one) == one, copy.copy(one).hidden)),
        dataclasses.asdict(kind(x=7)), dataclasses.replace(other, y=4).y, kind.__match_args__,
        [(each.name, each.type, each.kw_only) for each in dataclasses.fields(kind)],
        kind.__dataclass_params__.frozen, str(inspect.signature(kind)), "__slots__" in vars(kind),
    ]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
@pytest.mark.parametrize("make", [point, spatial])
def test_a_record_is_as_the_standard_library_makes_it(make: Any, options: dict[str, bool]) -> None:
    assert told(make(LATE, **options)) == told(make(dataclasses.dataclass, **options))


def test_a_record_is_refused_what_a_frozen_record_is_refused_before_the_first_is_complete() -> None:
    kind = point(LATE, frozen=True, slots=True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind.__new__(kind).x = 1


def test_the_signature_is_known_before_the_first_object() -> None:
    kind, twin = (spatial(each, frozen=True, slots=True, kw_only=True) for each in (LATE, dataclasses.dataclass))
    assert str(inspect.signature(kind)) == str(inspect.signature(twin))


@pytest.mark.parametrize("frozen", [True, False])
def test_a_record_may_be_inherited_from_by_one_of_the_standard_library(frozen: bool) -> None:
    base = point(LATE, frozen=frozen)
    heir = dataclasses.make_dataclass("Heir", [("z", int, 3)], bases=(base,), frozen=frozen)
    assert repr(heir(1)).endswith("Heir(x=1, y=0, tags=[], total=1, z=3)")
    with pytest.raises(TypeError, match="cannot inherit"):
        dataclasses.make_dataclass("Heir", [("z", int, 3)], bases=(base,), frozen=not frozen)


def test_a_class_below_a_frozen_record_has_attributes_of_its_own() -> None:
    class Below(point(LATE, frozen=True)):  # type: ignore[misc]
        pass

    below = Below(x=1)
    below.note = "own"
    assert (below.note, outcome(lambda: setattr(below, "x", 2))) == (
        "own", ("FrozenInstanceError", "cannot assign to field 'x'"),
    )  # fmt: skip
    del below.note
    assert not hasattr(below, "note")


def test_a_public_record_is_pickled() -> None:
    actor = filetools.Actor(kind="agent", id="alice", session="s1")
    assert pickle.loads(pickle.dumps(actor)) == actor


def test_no_record_that_a_listing_imports_is_compiled_by_the_import(tmp_path: Path) -> None:
    program = """
import dataclasses, json, sys
sys.argv = ["filetools", "ls"]
try:
    from filetools.__main__ import main
    main()
except SystemExit:
    pass
ours = [module for name, module in sys.modules.items() if name.startswith("filetools.")]
records = {each for module in ours for each in vars(module).values() if isinstance(each, type)}
records = {each for each in records if dataclasses.is_dataclass(each) and each.__module__.startswith("filetools.")}
print(json.dumps([len(records), sorted(str(each) for each in records if "__signature__" not in vars(each))]))
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    number, compiled = json.loads(done.stdout)
    assert (number > 20, compiled) == (True, [])
