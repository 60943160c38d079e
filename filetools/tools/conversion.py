"""Values that models write in another form than the declared type, where they mean exactly one value of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

_MOST_CHARACTERS: Final = 2 * 1024 * 1024
"""Of JSON text that is read; what is longer is no list of arguments."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.0{1,9})?")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_BOOLEANS: Final = {"true": True, "false": False}


def converted(annotation: object, value: object) -> Any:
    """Return the one value of a declared type that a value means, or the value itself.

    Args:
        annotation: The declared type.
        value: What came: `2.0` and `"4"` are integers, `"true"` is a boolean, JSON text is what it says, and
            a single item is a list of one. A number or an object is no text: there are several ways to write it.
    """
    choices = _choices(annotation)
    if value is None or any(_is_of(choice, value) for choice in choices):
        return value
    for choice in choices:
        made = _as(choice, value)
        if made is not None:
            return made
    return value


def from_json(text: str) -> Any:
    """Return what JSON text says; None if it is none."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(stripped) > _MOST_CHARACTERS:
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _choices(annotation: object) -> tuple[object, ...]:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return tuple(each for choice in get_args(annotation) for each in _choices(choice))
    if hasattr(annotation, "__metadata__"):
        return _choices(get_args(annotation)[0])
    return (annotation,)


def _is_of(choice: object, value: object) -> bool:
    if get_origin(choice) is Literal:
        return value in get_args(choice)
    if get_origin(choice) is list:
        return isinstance(value, list)
    if _is_object(choice):
        return isinstance(value, Mapping)
    # A boolean is an integer to Python, and never meant as one.
    return isinstance(choice, type) and type(value) is choice


def _as(choice: object, value: object) -> Any:
    if get_origin(choice) is Literal:
        folded = value.strip().casefold() if isinstance(value, str) else None
        return next((each for each in get_args(choice) if str(each).casefold() == folded), None)
    if choice is int:
        return _integer(value)
    if choice is float:
        return _number(value)
    if choice is bool:
        return _BOOLEANS.get(value.strip().casefold()) if isinstance(value, str) else None
    said = from_json(value) if isinstance(value, str) else value
    if get_origin(choice) is list:
        return _list(choice, value, said)
    return said if _is_object(choice) and isinstance(said, Mapping) else None


def _list(choice: object, value: object, said: object) -> list[Any] | None:
    if isinstance(said, list):
        return said
    items = _choices(get_args(choice)[0])
    if isinstance(said, Mapping) and any(map(_is_object, items)):
        return [said]
    return [value] if isinstance(value, str) and str in items else None


def _is_object(choice: object) -> bool:
    return (isinstance(choice, type) and not get_args(choice) and issubclass(choice, BaseModel)) or get_origin(
        choice
    ) is dict


def _integer(value: object) -> int | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    return None


def _number(value: object) -> float | None:
    if type(value) is int and value.bit_length() <= 64:
        return float(value)
    return float(value.strip()) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else None
