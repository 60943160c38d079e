from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from filetools.errors import InvalidArgumentError
from filetools.tools.arguments import NoParameters, Parameters, read_arguments


class Item(Parameters):
    path: str
    expected_version: str | None = None


class Sample(Parameters):
    path: str
    limit: Annotated[int | None, Field(ge=1)] = None
    recursive: bool = False
    expected_version: str | None = None
    old_string: str = ""
    pattern: str = ""
    items: Annotated[list[Item], Field(max_length=2, default_factory=list)]
    names: Annotated[list[str], Field(default_factory=list)]
    parts: Annotated[list[Item] | None, Field(max_length=2)] = None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (None, "Arguments: expected an object, got null"),
        ({}, "Missing parameter 'path'"),
        ({"path": None}, "Parameter 'path': expected a string, got null"),
        ({"path": "a", "limit": "five"}, "Parameter 'limit': expected an integer, got 'five' (a string)"),
        ({"path": "a", "recursive": "yes"}, "Parameter 'recursive': expected a boolean, got 'yes' (a string)"),
        ({"path": "a", "limit": 0}, "Parameter 'limit': expected at least 1, got 0 (an integer)"),
        ({"path": "a", "limit": -(10**5000)}, "expected at least 1, got a very large integer"),
        ({"path": "a", "names": ["b", 2]}, "Parameter 'names[1]': expected a string, got 2 (an integer)"),
        ({"path": "a", "items": [{}]}, "Missing parameter 'items[0].path'"),
        ({"path": "a", "items": [{"path": "b"}] * 3}, "Parameter 'items': expected at most 2 items, got an array of 3"),
        ({"path": "a", "recursiv": True}, "Unknown parameter 'recursiv'; did you mean 'recursive'?"),
        ({"path": "a", "xyzzy": 1}, "Unknown parameter 'xyzzy'; known are path, limit, recursive"),
        ({"path": "a", "items": [{"pth": "b"}]}, "Unknown parameter 'items[0].pth'; did you mean 'path'?"),
        ('{"path": "a"', "which is not valid JSON: Expecting ',' delimiter: line 1 column 13 (char 12)"),
        ({"path": "a", "file_path": "b"}, "Parameter 'path' is given twice with different values, as 'path' and 'file_path'"),
    ],
)  # fmt: skip
def test_arguments_that_are_wrong_are_refused_saying_why(arguments: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_arguments(Sample, arguments)
    assert message in caught.value.message
    assert len(caught.value.message) < 400


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_arguments(Sample, {"pth": "a", "limit": "x", "recursive": 1, "items": [{"pat": "b"}], "xyzzy": 1})
    assert caught.value.message.split("; ") == [
        "Unknown parameter 'pth'",
        "did you mean 'path'?",
        "Unknown parameter 'xyzzy'",
        "known are path, limit, recursive, expected_version, old_string, pattern, items, names, parts",
        "Unknown parameter 'items[0].pat'",
        "did you mean 'path'?",
        "Missing parameter 'path'",
        "Parameter 'limit': expected an integer, got 'x' (a string)",
        "Parameter 'recursive': expected a boolean, got 1 (an integer)",
        "Missing parameter 'items[0].path'",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected", "told"),
    [
        ({"path": "a", "limit": "5"}, {"path": "a", "limit": 5}, "'limit' was taken as 5 instead of '5' (a string)"),
        ({"path": "a", "names": '["b", "c"]'}, {"path": "a", "names": ["b", "c"]}, "'names' was taken as an array of 2"),
        ({"path": "a", "names": "b"}, {"path": "a", "names": ["b"]}, "'names' was taken as an array of 1"),
        ({"path": "a", "items": {"file": "b"}}, {"path": "a", "items": [{"path": "b"}]}, "'items[0].file' was taken as 'path'"),
        ({"path": "a", "items": ['{"path": "b"}']}, {"path": "a", "items": [{"path": "b"}]}, "items[0] came as JSON text"),
        ('{"path": "a"}', {"path": "a"}, "came as JSON text"),
        ({"target_file": "a"}, {"path": "a"}, "'target_file' was taken as 'path'"),
    ],
)  # fmt: skip
def test_what_has_one_meaning_is_done_and_told(arguments: object, expected: dict[str, Any], told: str) -> None:
    parameters, repairs = read_arguments(Sample, arguments)
    assert parameters == Sample.model_validate(expected)
    assert told in "; ".join(repairs)


def test_what_came_as_declared_is_told_of_with_no_word() -> None:
    given = {"path": "a", "limit": 5, "recursive": True, "names": ["4"], "items": [{"path": "true"}]}
    parameters, repairs = read_arguments(Sample, given)
    assert parameters == Sample.model_validate(given)
    assert repairs == ()


def test_long_values_and_names_are_shown_shortened() -> None:
    for arguments in ({"path": "a", "limit": "x" * 100_000}, {"path": "a", "y" * 100_000: 1}):
        with pytest.raises(InvalidArgumentError) as caught:
            read_arguments(Sample, arguments)
        assert len(caught.value.message) < 300


def test_an_alias_counts_only_where_the_tool_has_the_parameter() -> None:
    with pytest.raises(InvalidArgumentError, match="Unknown parameter 'query'"):
        read_arguments(Item, {"path": "a", "query": "b"})
    with pytest.raises(InvalidArgumentError, match="there are none"):
        read_arguments(NoParameters, {"path": "a"})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"file_path": "a"}, {"path": "a"}),
        ({"path": "a", "file_path": "a"}, {"path": "a"}),
        ({"path": "a", "length": 3}, {"path": "a", "limit": 3}),
        ({"path": "a", "limit": None, "recursive": None, "items": None}, {"path": "a"}),
        ({"path": "a", "items": [{"filePath": "b", "expectedVersion": None}]}, {"path": "a", "items": [{"path": "b"}]}),
    ],
)
def test_other_names_and_nulls_are_understood(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_arguments(Sample, arguments)[0] == Sample.model_validate(expected)


class Renamed(Parameters):
    old_text: Annotated[str, Field(alias="oldText")]
    before: Annotated[int | None, Field(alias="-B")] = None
    edits: Annotated[list[Item], Field(alias="theEdits", default_factory=list)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Missing parameter 'oldText'"),
        ({"oldText": 1}, "Parameter 'oldText': expected a string, got 1 (an integer)"),
        ({"oldText": "a", "-C": 1}, "Unknown parameter '-C'; known are oldText, -B, theEdits"),
    ],
)
def test_errors_call_a_renamed_parameter_by_its_published_name(arguments: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_arguments(Renamed, arguments)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": True}, {"limit": "true"}, {"limit": "4.5"}, {"limit": "1e999"}, {"limit": "9" * 5000}, {"limit": [4]},
        {"recursive": "1"}, {"recursive": 0}, {"recursive": "null"}, {"names": 4}, {"names": {"a": "b"}}, {"path": 4},
        {"items": "b"}, {"items": "[" * 100_000}, {"items": ["b"]}, {"parts": 4},
    ],
)  # fmt: skip
def test_what_has_several_meanings_or_none_is_not_converted(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        read_arguments(Sample, {"path": "a", **arguments})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 4.0}, {"limit": 4}),
        ({"limit": " 4.0 "}, {"limit": 4}),
        ({"recursive": "False"}, {"recursive": False}),
        ({"names": "4"}, {"names": ["4"]}),
        ({"parts": '{"filePath": "b"}'}, {"parts": [{"path": "b"}]}),
    ],
)
def test_numbers_booleans_and_lists_are_understood_as_text(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    read, repairs = read_arguments(Sample, {"path": "a", **arguments})
    assert read == Sample.model_validate({"path": "a", **expected})
    assert repairs
