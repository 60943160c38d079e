"""The configuration of descriptors, and what a prompt says of it."""

from __future__ import annotations

import ast
import re

import pytest

from filetools.descriptors.frames import instructions, is_enabled
from filetools.errors import InvalidArgumentError
from filetools.settings import DescriptorSettings, Settings
from filetools.tools.arguments import read_arguments
from filetools.tools.registry import FILE_TOOLS


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"default_pagesize": 10}, "default_page_size"),
        ({"enable": True}, "enabled"),
        ({"default_page_size": 0}, "file_descriptor.default_page_size"),
        ({"max_direct_output_chars": -1}, "file_descriptor.max_direct_output_chars"),
        ({"max_input_chars": 1.5}, "file_descriptor.max_input_chars"),
        ({"max_input_chars": "8000"}, "file_descriptor.max_input_chars"),
        ({"max_input_chars": True}, "file_descriptor.max_input_chars"),
        ({"body": "html"}, "file_descriptor.body"),
    ],
)
def test_a_wrong_key_or_value_is_refused_and_named(table: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Settings(file_descriptor=table)  # type: ignore[arg-type]


def test_enabled_without_a_tool_that_reads_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="read_fd, fd_to_file, search_fd"):
        is_enabled(DescriptorSettings(enabled=True), ["read_file"])


@pytest.mark.parametrize("tool", ["read_fd", "fd_to_file", "search_fd"])
def test_one_of_the_tools_switches_descriptors_on(tool: str) -> None:
    assert is_enabled(DescriptorSettings(), ["read_file", tool])
    assert not is_enabled(DescriptorSettings(), ["read_file", "list_fds"])


@pytest.mark.parametrize(
    ("settings", "blocks"),
    [
        ({"page_user_input": False}, ["file_descriptor_instructions"]),
        ({}, ["file_descriptor_instructions", "fd_user_input_instructions"]),
        (
            {"enable_references": True},
            ["file_descriptor_instructions", "fd_user_input_instructions", "reference_instructions"],
        ),
    ],
)
def test_a_prompt_has_a_block_for_what_is_switched_on(settings: dict[str, bool], blocks: list[str]) -> None:
    text = instructions(DescriptorSettings(**settings))  # type: ignore[arg-type]
    assert re.findall(r"^<(\w+_instructions)>$", text, re.MULTILINE) == blocks
    assert re.findall(r"^</(\w+_instructions)>$", text, re.MULTILINE) == blocks


def test_every_example_in_a_prompt_is_a_valid_call() -> None:
    text = instructions(DescriptorSettings(enable_references=True))
    calls = re.findall(r"\b((?:read_fd|search_fd|fd_to_file|list_fds)\([^)]*\))", text)
    tools = {tool.name: tool for tool in FILE_TOOLS}
    used = set()
    for call in calls:
        tree = ast.parse(call.replace("=true", "=True"), mode="eval").body
        assert isinstance(tree, ast.Call)
        assert isinstance(tree.func, ast.Name)
        given = {each.arg: ast.literal_eval(each.value) for each in tree.keywords}
        read_arguments(tools[tree.func.id].parameters, given)
        used.add(tree.func.id)
    assert used == {"read_fd", "search_fd", "fd_to_file", "list_fds"}
