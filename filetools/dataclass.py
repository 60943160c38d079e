"""The decorator `dataclass` of the standard library, with methods that are made when they are first used.

Python compiles up to seven methods for each dataclass while its module is imported, in half a millisecond: as long as it
takes to run a short command's work, for 200 records of which that command makes a few. Here `__init__` is compiled for the
first object, and nothing else is compiled at all. What the methods do is the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen=False, slots=False, kw_only=False, eq=True):
        """Return a decorator; the options are those of `dataclasses.dataclass`."""

        def decorate(cls):
            own = {name for name, value in vars(cls).items() if value is not None}
            if not cls.__doc__:
                cls.__doc__ = cls.__name__  # else the standard library makes a signature, to show it here
            # A frozen class may only inherit from frozen ones; all others are told of it below, without methods for it.
            is_heir = frozen and any(map(dataclasses.is_dataclass, cls.__bases__))
            options = {"slots": slots, "kw_only": kw_only, "frozen": is_heir}
            made = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
            made.__dataclass_params__.frozen, made.__dataclass_params__.eq = frozen, eq
            for name, method in _methods(made, frozen=frozen, eq=eq).items():
                if name not in own:
                    setattr(made, name, method)
            made.__signature__ = _Signature(made)
            return made

        return decorate


__all__ = ["dataclass"]


def _methods(cls: type[Any], *, frozen: bool, eq: bool) -> Mapping[str, Any]:
    methods: dict[str, Any] = {"__init__": _initializer(cls), "__repr__": _represented}
    if eq:
        methods |= _comparing(cls) if frozen else {**_comparing(cls), "__hash__": None}
    if frozen:
        methods |= _refusing(cls)
    if frozen and "__slots__" in vars(cls):
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    return methods


def _initializer(cls: type[Any]) -> Callable[..., None]:
    def initialize(self: Any, *arguments: Any, **values: Any) -> None:
        _compile_initializer(cls)
        cls.__init__(self, *arguments, **values)

    return initialize


def _compile_initializer(cls: type[Any]) -> None:
    members = {each.name: getattr(cls, each.name, None) for each in dataclasses.fields(cls)}
    if cls.__dataclass_params__.frozen and all(isinstance(one, MemberDescriptorType) for one in members.values()):
        _compile_slots_initializer(cls, members)
    else:
        _let_library_compile_initializer(cls)


def _compile_slots_initializer(cls: type[Any], members: Mapping[str, Any]) -> None:
    """Make the method of a frozen class with slots: the slots are set directly, in a third of the library's time."""
    fields = dataclasses.fields(cls)
    taken = sorted((each for each in fields if each.init), key=attrgetter("kw_only"))
    names: dict[str, Any] = {"_FACTORY": _FACTORY}
    parameters, body = [], []
    for each in taken:
        if each.kw_only and "*" not in parameters:
            parameters.append("*")
        has_factory = each.default_factory is not dataclasses.MISSING
        if each.default is not dataclasses.MISSING or has_factory:
            names[f"_default_{each.name}"] = _FACTORY if has_factory else each.default
            parameters.append(f"{each.name}=_default_{each.name}")
        else:
            parameters.append(each.name)
    for each in fields:
        names[f"_set_{each.name}"], value = members[each.name].__set__, each.name
        if each.default_factory is not dataclasses.MISSING:
            names[f"_make_{each.name}"] = each.default_factory
            value = f"_make_{each.name}()" + (f" if {value} is _FACTORY else {value}" if each.init else "")
        elif not each.init:
            if each.default is dataclasses.MISSING:
                continue
            names[f"_default_{each.name}"] = each.default
            value = f"_default_{each.name}"
        body.append(f" _set_{each.name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    source = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(body or [" pass"])
    exec(source, names)  # noqa: S102 - as the standard library does, of the names of fields alone
    method = names["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    method.__annotations__ = {**{each.name: each.type for each in taken}, "return": None}
    cls.__init__ = method


def _let_library_compile_initializer(cls: type[Any]) -> None:
    """Let the standard library make the method, in a class of its own with the same fields."""
    namespace = {
        name: getattr(cls, name) for name in ("__qualname__", "__doc__", "__post_init__") if hasattr(cls, name)
    }
    rows = [(each.name, each.type, each) for each in dataclasses.fields(cls)]
    frozen = cls.__dataclass_params__.frozen
    twin = dataclasses.make_dataclass(cls.__name__, rows, namespace=namespace, repr=False, eq=False, frozen=frozen)
    cls.__init__ = twin.__init__  # type: ignore[misc]


def _comparing(cls: type[Any]) -> Mapping[str, Any]:
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    key = attrgetter(*names) if names else lambda _: ()

    def is_equal(self: Any, other: object) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": is_equal, "__hash__": hashed}


def _refusing(cls: type[Any]) -> Mapping[str, Any]:
    def set_attribute(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_attribute, "__delattr__": delete_attribute}


@recursive_repr("...")
def _represented(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


class _Factory:
    """Stands in a signature for a default that is made."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


class _Signature:
    """What `inspect.signature` finds at a class, which would else look at `__init__` before it is compiled."""

    def __init__(self, cls: type[Any]) -> None:
        self._cls = cls

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        if instance is not None:
            raise AttributeError("__signature__")
        import inspect

        if vars(self._cls)["__init__"].__code__ is _STUB:
            _compile_initializer(self._cls)
        found = inspect.signature(owner.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:])


_STUB: Final = _initializer(object).__code__
