"""Converts a model's arguments to a tool's parameters: renames synonyms, drops nulls, then validates strictly."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from filetools.errors import InvalidArgumentError
from filetools.tools.envelope import input_schema

_MOST_CHARACTERS: Final = 2 * 1024 * 1024
"""Maximum length of JSON text that is parsed; anything longer is not a list of arguments."""
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (Mapping,),
}
"""The values that fit a type of a schema; text fits only as it is."""
_published: Final = cache(input_schema)


def converted(schema: Mapping[str, Any], value: object) -> Any:
    """Convert a value to the published type if only one reading is possible; otherwise return it unchanged.

    Args:
        schema: The published schema of the parameter.
        value: The value sent. `2.0` and `"4"` become integers, `"true"` a boolean, JSON text its value, and a single item a
            list of one. Numbers and objects do not become text, because there are several ways to write them.
    """
    kind, choices = schema.get("type", ""), schema.get("enum", ())
    if choices and value not in choices and isinstance(value, str):
        known = (value.strip().casefold(), _VALUES.get(value))
        return next((each for each in choices if each in known), value)
    if kind not in _TYPES or value is None:
        return value
    made = from_json(value.lower() if kind == "boolean" else value) if isinstance(value, str) else value
    if kind == "integer" and isinstance(made, float) and made.is_integer():
        made = int(made)
    if kind == "array" and not isinstance(made, list):
        items = schema["items"].get("type")
        is_single = isinstance(made, Mapping) if items == "object" else isinstance(value, str) and items == "string"
        made = [value if items == "string" else made] if is_single else None
    fits = isinstance(made, _TYPES[kind]) and isinstance(made, bool) == (kind == "boolean")
    return made if fits else value


def from_json(text: str) -> Any:
    """Parse JSON text; None if it is not JSON, or too long."""
    try:
        return json.loads(text) if len(text) <= _MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        return None


_SYNONYMS: Final = (
    (
        "path", "file_path", "filepath", "filename", "file_name", "file", "target_file", "absolute_path", "relative_path",
        "directory", "folder", "dir",
    ),
    ("old_string", "old_str", "old_text", "old", "old_content", "search_string"),
    ("new_string", "new_str", "new_text", "new", "new_content", "replacement"),
    ("content", "contents", "file_text", "file_content", "text", "body"),
    ("pattern", "query", "regex", "search", "search_pattern", "name"),
    ("limit", "length", "head_limit", "max_results", "max_count", "num_lines", "line_count"),
    ("offset", "start_line", "line_start", "first_line"),
    ("patch", "patch_text", "diff", "input"),
    ("source", "src", "from", "from_path", "source_path", "old_path"),
    ("destination", "dest", "dst", "to", "to_path", "destination_path", "new_path", "target"),
    ("ignore_case", "case_insensitive", "-i", "i"),
    ("before", "before_context", "-B", "B"),
    ("after", "after_context", "-A", "A"),
    ("context", "context_lines", "-C", "C"),
    ("glob", "include", "file_pattern", "include_pattern"),
    ("output_mode", "mode"),
    ("all", "include_hidden", "hidden"),
    ("edits", "changes", "replacements"),
    ("expected_version", "version", "base_version"),
    ("max_depth", "depth"),
    ("overwrite", "force"),
    ("dry_run", "preview"),
)  # fmt: skip
"""Synonyms used by models trained on other tools. A name is translated if the tool has exactly one name of its row."""
_WRAPPERS: Final = frozenset(("arguments", "args", "parameters", "params", "input", "kwargs"))
"""Names under which models wrap all arguments in another object."""
_ROWS: Final = {name: row for row in _SYNONYMS for name in row}
_VALUES: Final = {"files_with_matches": "files", "files": "files_with_matches"}
"""Other tools' names of choices, used if the tool does not have that choice."""

MAX_SHOWN_CHARACTERS: Final = 80
MOST_PROBLEMS: Final = 8
"""Maximum number of wrong parameters named in an error; the rest is counted."""
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])[A-Z]")
_EXPECTED: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "bool_type": "a boolean",
    "bool_parsing": "a boolean",
    "float_type": "a number",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "text that matches {pattern}",
    "union_tag_invalid": "one of {expected_tags}",
}
"""What pydantic's errors expected, by their type, with the facts in braces."""
_QUOTE: Final = "'"


_PATHS: Final = ("path", "file_path", "source", "old_path")
"""Parameters with the main path of a call; the first one given counts."""


class Parameters(BaseModel):
    """Base of the parameters of tools: unknown and ambiguous values are rejected.

    A field with an alias, such as "oldText" or "-A", is published and named in errors only by the alias.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def about(self) -> str | None:
        """Return the main path of the call, for logs and events."""
        return next((path for name in _PATHS if (path := getattr(self, name, None))), None)


class NoParameters(Parameters):
    """The parameters of a tool that has none."""


P = TypeVar("P", bound=Parameters)


def read_arguments(model: type[P], arguments: object) -> tuple[P, tuple[str, ...]]:
    """Convert arguments to parameters, and return them with the repairs made: "'limit' is 4, not '4'".

    Args:
        model: The tool's parameters.
        arguments: The arguments of the call.

    Raises:
        InvalidArgumentError: The arguments are not an object; a parameter is unknown, missing, or given under two names with
            different values; or a value has the wrong type or range. Names every such parameter with the expected and the
            actual value.
    """
    reader = _ArgumentReader()
    named = reader.object(_published(model), arguments, "")
    try:
        parameters = model.model_validate(named)
    except ValidationError as exc:
        found = exc.errors(include_url=False)
        reader.problems += [each for error in found if (each := problem_text(error)) not in reader.problems]
        raise reader.refusal() from exc
    if reader.problems:
        raise reader.refusal()
    return parameters, tuple(reader.repairs)


class _ArgumentReader:
    """Reads the arguments of one call, and continues after errors so that all are reported at once."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.repairs: list[str] = []
        self._details: dict[str, Any] = {}
        self._action = InvalidArgumentError.action

    def refusal(self) -> InvalidArgumentError:
        """Return the error with all problems."""
        return InvalidArgumentError(_joined(self.problems), suggested_action=self._action, details=self._details)

    def object(self, schema: Mapping[str, Any], arguments: object, where: str) -> dict[str, Any]:
        """Return the arguments of an object with this schema, by parameter name."""
        properties: Mapping[str, Any] = schema["properties"]
        if isinstance(arguments, str) and isinstance(parsed := from_json(arguments), Mapping):
            self.repairs.append(f"{where.rstrip('.') or 'the object'} came as JSON text")
            arguments = parsed
        if isinstance(arguments, Mapping) and len(arguments) == 1:
            ((name, inner),) = arguments.items()
            if name in _WRAPPERS and name not in properties and isinstance(inner, Mapping):
                self.repairs.append(f"the arguments were taken from inside {where + name!r}")
                arguments = inner
        if not isinstance(arguments, Mapping):
            what = f"Parameter {where.rstrip('.')!r}" if where else "Arguments"
            self.problems.append(f"{what}: expected an object, got {_shown(arguments)}{_why_no_json(arguments)}")
            raise self.refusal()
        named: dict[str, Any] = {}
        given: dict[str, str] = {}
        for raw_name, value in arguments.items():
            name = self._known_name(schema, str(raw_name), where)
            if name is None:
                continue
            if name == "expected_version" and value in ("", "null", "none"):
                self.repairs.append(f"{where + name!r} was ignored: {value!r} is not a version")
                value = None
            if name in given and not _is_repeated(named[name], value):
                self.problems.append(
                    f"Parameter {where + name!r} is given twice with different values, as {given[name]!r} and {raw_name!r}"
                )
            if named.get(name) is None:
                named[name], given[name] = value, str(raw_name)
        return {
            name: self._value(properties[name], value, where + name)
            for name, value in named.items()
            if value is not None or name in schema.get("required", ())
        }

    def _value(self, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        """Convert a value to the published type if possible, including the items of objects and lists of objects."""
        made = converted(schema, value)
        if made is not value:
            now = json.dumps(made) if isinstance(made, bool | int | float | str) else _shown(made)
            self.repairs.append(f"{where!r} was taken as {now} instead of {_shown(value)}")
        if "properties" in schema and isinstance(made, Mapping):
            return self.object(schema, made, f"{where}.")
        items = schema.get("items", {})
        if "properties" not in items or not isinstance(made, list):
            return made
        return [self.object(items, item, f"{where}[{index}].") for index, item in enumerate(made)]

    def _known_name(self, schema: Mapping[str, Any], raw_name: str, where: str) -> str | None:
        names: list[str] = list(schema["properties"])
        if raw_name in names:
            return raw_name
        snake = _snake(raw_name[:MAX_SHOWN_CHARACTERS]).replace("-", "_")
        if same := [name for name in names if snake in (name, _snake(name))]:
            return same[0]
        row = _ROWS.get(raw_name) or _ROWS.get(snake) or ()
        synonyms = [name for name in names if name in row or _snake(name) in row]
        if len(synonyms) == 1:
            self.repairs.append(f"{where + raw_name!r} was taken as {synonyms[0]!r}")
            return synonyms[0]
        if schema.get("additionalProperties") is not False:
            return None
        nearest = nearest_name(snake, names)
        if snake in ("append", "mode") and "content" in names:
            self._action += " Use append_file to add to the end of a file."
        self.problems.append(f"Unknown parameter {where + raw_name[:MAX_SHOWN_CHARACTERS]!r}; {meant(snake, names)}")
        self._details = {"parameters": names, **({"nearest": nearest} if nearest else {})}
        return None


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)


def nearest_name(name: str, known: list[str]) -> str | None:
    """Return the known name most similar to a misspelled one, or None if none is similar."""
    # Truncated: the comparison is quadratic in the length of the caller's text.
    return next(iter(difflib.get_close_matches(name[:MAX_SHOWN_CHARACTERS], known, n=1)), None)


def meant(name: str, known: list[str]) -> str:
    """Return the hint for an unknown name: the most similar known one, or all."""
    nearest = nearest_name(name, known)
    return f"did you mean {nearest!r}?" if nearest else f"known are {', '.join(known)}" if known else "there are none"


def _is_repeated(first: object, second: object) -> bool:
    return first is None or second is None or (type(first) is type(second) and first == second)


def refusal_of(errors: Sequence[Any], *, skip: int = 0) -> InvalidArgumentError:
    """Return the error for values that a model has refused.

    Args:
        errors: As pydantic returns them.
        skip: Number of parts at the start of each location that do not name a parameter.
    """
    return InvalidArgumentError(_joined([problem_text(each, skip=skip) for each in errors]))


def problem_text(error: Mapping[str, Any], *, skip: int = 0) -> str:
    """Return one of pydantic's errors as a sentence; arguments as for `refusal_of`."""
    name = place_of(error["loc"][skip:])
    if error["type"].startswith("union_tag_"):  # the parameter that selects the member
        selector = error["ctx"]["discriminator"].strip(_QUOTE)
        name, error = place_of((name, selector)), {**error, "input": error["input"].get(selector)}
    match error["type"]:
        case "json_invalid":  # FastAPI locates it by its position
            return f"The JSON value: {reason_of(error)}"
        case "missing" | "union_tag_not_found" if name:
            return f"Missing parameter {name!r}"
        case "extra_forbidden":
            return f"Unknown parameter {name!r}"
    return f"{f'Parameter {name!r}' if name else 'The JSON value'}: {reason_of(error)}"


def place_of(location: Sequence[int | str]) -> str:
    """Return the name of a parameter inside others, such as `edits[0].old`; names that the caller made up are shortened."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part != "")
    return "".join(part[:MAX_SHOWN_CHARACTERS] for part in parts).lstrip(".")


def reason_of(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, for a sentence that begins with its name."""
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "it is missing"
        case "json_invalid":
            return f"invalid JSON: {context['error']}"
        case "value_error":
            return str(context["error"])
    form = _EXPECTED.get(error["type"])
    expected = error["msg"].removeprefix("Input should be ") if form is None else form.format_map(context)
    return f"expected {expected}, got {_shown(error['input'])}"


def _joined(problems: Sequence[str]) -> str:
    more = len(problems) - MOST_PROBLEMS
    return "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")


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
    # A number with thousands of digits would exceed Python's int-to-str limit, or fill the message.
    is_long = isinstance(value, int) and value.bit_length() > 256
    kind = {int: "an integer", float: "a number"}.get(type(value), type(value).__name__)
    return "a very large integer" if is_long else f"{value!r} ({kind})"


def _why_no_json(value: object) -> str:
    """Return where the JSON text of an argument is invalid: models write arguments as JSON text and need the position."""
    if not isinstance(value, str):
        return ""
    try:
        json.loads(value)
    except (ValueError, RecursionError) as exc:
        return f", which is not valid JSON: {exc}"
    return ""
