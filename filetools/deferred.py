"""Names that are imported at their first use, so that a start is quick: what packages give, and what modules take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def deferred(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` (PEP 562) of a package whose names stand in other modules.

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


class DeferredImport:
    """A function, class or module that is imported when it is first used; then it puts the real thing in its own place.

    To be used is to be called, or asked for an attribute or an instance. It is no class to inherit from or to catch, and no
    constant: those are attributes of a deferred module.

    Args:
        namespace: The globals of the module that uses it.
        as_name: What it is called there.
        place: The module that has it, and its name there.
    """

    def __init__(self, namespace: dict[str, Any], as_name: str, place: tuple[str, str]) -> None:
        self._namespace = namespace
        self._as_name = as_name
        self._place = place

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it."""
        return self._found()(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._found())

    def _found(self) -> Any:
        module, name = self._place
        # As the statement imports it: the name may be that of a module in a package.
        found = getattr(__import__(module, fromlist=(name,)), name)
        if self._namespace[self._as_name] is self:
            self._namespace[self._as_name] = found
        return found


def deferred_imports(namespace: dict[str, Any], homes: Mapping[str, str]) -> None:
    """Put names into a module that are imported when they are used.

    Type checkers do not see through it: the module imports the same names under `TYPE_CHECKING`.

    Args:
        namespace: Its globals.
        homes: By module or package the names that stand there, as an import spells them: "look, adopt as adopted".
    """
    for module, names in homes.items():
        for as_name, place in (_place(module, name) for name in names.split(", ")):
            namespace[as_name] = DeferredImport(namespace, as_name, place)


def _place(module: str, name: str) -> tuple[str, tuple[str, str]]:
    own, _, other = name.partition(" as ")
    return other or own, (module, own)
