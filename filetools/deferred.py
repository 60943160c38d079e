"""Names of a package (PEP 562), and modules, that are imported at their first use, so that what is imported first is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def deferred(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package whose names stand in other modules.

    Type checkers do not see through it: the package imports the same names under `TYPE_CHECKING`.

    Args:
        package: Its dotted name.
        homes: By module the names that stand there, as an import spells them: "Actor, open_workspace as open". Names by
            the package itself are its submodules.
    """
    places = dict(_place(module, name) for module, names in homes.items() for name in names.split(", "))

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own = places[name]
        if module == package:
            return import_module(f"{package}.{own}")
        found = getattr(import_module(module), own)
        setattr(sys.modules[package], name, found)  # the next time Python finds it without asking
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return find, names


class DeferredModule:
    """A module that is imported when the first of its names is used; stands in its place as long as the process lives.

    Type checkers do not see through it: whoever uses it imports the same module under `TYPE_CHECKING`.

    Args:
        name: Its dotted name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def deferred_modules(package: str, names: str) -> list[DeferredModule]:
    """Return modules of a package in the order of their names, "going_back, lines", each to be imported when it is used."""
    return [DeferredModule(f"{package}.{name}") for name in names.split(", ")]


def _place(module: str, name: str) -> tuple[str, tuple[str, str]]:
    own, _, other = name.partition(" as ")
    return other or own, (module, own)
