"""From the arguments a model sent to a tool's parameters: other names first, then nulls, then strict validation."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from filetools.errors import InvalidArgumentError

ALIASES: Final = {
    "file_path": "path",
    "filename": "path",
    "old_str": "old_string",
    "new_str": "new_string",
    "query": "pattern",
    "length": "limit",
    "patch_text": "patch",
    "input": "patch",
}
"""Names that models trained on other tools use; each counts only where the tool has the right-hand parameter."""

MAX_SHOWN_CHARACTERS: Final = 80
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])[A-Z]")
_EXPECTED: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "a boolean",
    "float_type": "a number",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


class Parameters(BaseModel):
    """Base of the parameters of tools: nothing is converted, nothing unknown is taken.

    A field with an alias, such as "oldText" or "-A", is published, and told of in errors, by that alone.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def about(self) -> str | None:
        """Return the path that the call is mainly about, for logs and events."""
        return getattr(self, "path", None) or getattr(self, "source", None)


class NoParameters(Parameters):
    """The parameters of a tool that has none."""


P = TypeVar("P", bound=Parameters)


def parse_arguments(model: type[P], arguments: object) -> P:
    """Return the parameters that arguments stand for.

    Args:
        model: The tool's parameters.
        arguments: What came with the call.

    Raises:
        InvalidArgumentError: Not an object, an unknown or missing parameter, one given twice under two names with
            different values, or a value of a wrong type or range; names the parameter, what was expected, what came.
    """
    named = _canonical(model, arguments, "")
    try:
        return model.model_validate(named)
    except ValidationError as exc:
        problems = [_sentence(error) for error in exc.errors(include_url=False)]
        raise InvalidArgumentError(
            problems[0], suggested_action="Correct the arguments and call again.", details={"problems": problems}
        ) from exc


def _canonical(model: type[BaseModel], arguments: object, where: str) -> dict[str, Any]:
    if not isinstance(arguments, Mapping):
        what = f"Parameter {where!r}" if where else "Arguments"
        raise InvalidArgumentError(
            f"{what}: expected an object, got {_shown(arguments)}{_why_no_json(arguments)}",
            suggested_action="Correct the arguments and call again.",
        )
    named: dict[str, Any] = {}
    given: dict[str, str] = {}
    for raw_name, value in arguments.items():
        name = _known_name(model, str(raw_name), where)
        if name in given and not _is_repeated(named[name], value):
            raise InvalidArgumentError(
                f"Parameter {where + name!r} is given twice with different values, as {given[name]!r} and {raw_name!r}"
            )
        if named.get(name) is None:
            named[name], given[name] = value, str(raw_name)
    fields = _published(model)
    return {
        name: _canonical_value(fields[name], value, where + name)
        for name, value in named.items()
        if value is not None or fields[name].is_required()
    }


@lru_cache(maxsize=1000)
def _published(model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """Return the fields by the names that callers know."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _canonical_value(field: FieldInfo, value: Any, where: str) -> Any:
    """Go on inside objects and lists of objects; every other value is for the validator."""
    nested = _item_model(field)
    if nested is not None and isinstance(value, Mapping):
        return _canonical(nested, value, f"{where}.")
    if nested is None or not isinstance(value, list):
        return value
    return [_canonical(nested, item, f"{where}[{index}].") for index, item in enumerate(value)]


def _item_model(field: FieldInfo) -> type[BaseModel] | None:
    return _model_in(field.annotation)


def _model_in(annotation: object) -> type[BaseModel] | None:
    """Return the model of the objects in `list[Item]`, also where it is one choice of several."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)


def _known_name(model: type[BaseModel], raw_name: str, where: str) -> str:
    fields = _published(model)
    if raw_name in fields:
        return raw_name
    by_field = {name: field.alias or name for name, field in model.model_fields.items()}
    snake = _CAPITAL.sub(lambda match: f"_{match[0].lower()}", raw_name[:MAX_SHOWN_CHARACTERS])
    for name in (raw_name, snake, ALIASES.get(snake, "")):
        if name in fields:
            return name
        if name in by_field:
            return by_field[name]
    nearest = nearest_name(snake, list(fields))
    hint = f"did you mean {nearest!r}?" if nearest else f"known are {', '.join(fields) or 'none'}"
    raise InvalidArgumentError(
        f"Unknown parameter {where + raw_name[:MAX_SHOWN_CHARACTERS]!r}; {hint}",
        suggested_action="Correct the arguments and call again.",
        details={"parameters": list(fields), **({"nearest": nearest} if nearest else {})},
    )


def nearest_name(name: str, known: list[str]) -> str | None:
    """Return the known name that is most like a misspelled one, or None if none is."""
    # Bounded: the comparison is quadratic in the length of what a caller sent.
    return next(iter(difflib.get_close_matches(name[:MAX_SHOWN_CHARACTERS], known, n=1)), None)


def _is_repeated(first: object, second: object) -> bool:
    return first is None or second is None or (type(first) is type(second) and first == second)


def _sentence(error: ErrorDetails) -> str:
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    if error["type"] == "missing":
        return f"Missing parameter {name!r}"
    return f"Parameter {name!r}: expected {_expected(error)}, got {_shown(error['input'])}"


def _expected(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    if error["type"] == "too_short":
        return f"at least {context['min_length']} items"
    if error["type"] == "too_long":
        return f"at most {context['max_length']} items"
    return _EXPECTED.get(error["type"]) or error["msg"].removeprefix("Input should be ")


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, str):
        shown = value if len(value) <= MAX_SHOWN_CHARACTERS else f"{value[:MAX_SHOWN_CHARACTERS]}..."
        return f"{shown!r} (a string)"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}"
    # A number of thousands of digits would be refused by int-to-text conversion, or fill the message.
    is_long = isinstance(value, int) and value.bit_length() > 256
    return "a very large integer" if is_long else f"{value!r} ({_type_name(value)})"


def _why_no_json(value: object) -> str:
    """Models write their arguments as JSON text: where that breaks is what they need to know."""
    if not isinstance(value, str):
        return ""
    try:
        json.loads(value)
    except (ValueError, RecursionError) as exc:
        return f", which is no JSON: {exc}"
    return ""


def _type_name(value: object) -> str:
    return {int: "an integer", float: "a number"}.get(type(value), type(value).__name__)
