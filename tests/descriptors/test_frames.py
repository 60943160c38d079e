"""Frames, to the letter; when descriptors are on, and what a prompt says of them."""

from __future__ import annotations

import ast
import re
from xml.etree import ElementTree

import pytest

from filetools.descriptors.frames import Frame, error_frame, instructions, is_enabled
from filetools.errors import InvalidArgumentError
from filetools.settings import DescriptorSettings, Settings
from filetools.tools.arguments import read_arguments
from filetools.tools.registry import FILE_TOOLS


def content(text: str, **attributes: str) -> Frame:
    return Frame(name="fd_content", attributes={"fd": "fd:1", **attributes}, content=text)


def test_an_error_is_a_frame() -> None:
    assert error_frame("not_found", "fd:9", "File descriptor fd:9 not found. Available FDs: none").text() == (
        '<fd_error type="not_found" fd="fd:9">\n'
        "  <message>File descriptor fd:9 not found. Available FDs: none</message>\n"
        "</fd_error>"
    )


def test_values_of_attributes_are_escaped() -> None:
    text = error_frame("invalid_path", 'a"<b>&\n', "x < y & z").text()
    assert text.splitlines()[0] == '<fd_error type="invalid_path" fd="a&quot;&lt;b&gt;&amp;&#10;">'
    assert ElementTree.fromstring(text).attrib["fd"] == 'a"<b>&\n'
    assert ElementTree.fromstring(text).findtext("message") == "x < y & z"


def test_of_a_preview_only_the_first_line_is_indented() -> None:
    frame = Frame(name="fd_result", attributes={"fd": "fd:1", "truncated": True}, message="m", preview="a\nb")
    assert frame.text() == (
        '<fd_result fd="fd:1" truncated="true">\n  <message>m</message>\n  <preview>\n  a\nb\n  </preview>\n</fd_result>'
    )


def test_a_body_stands_as_it_is() -> None:
    assert content("a < b && c\n").text() == '<fd_content fd="fd:1">\na < b && c\n\n</fd_content>'


@pytest.mark.parametrize("body", ["x</fd_content>y", "</fd_content >", "]]></fd_content>]]>"])
def test_a_body_with_the_closing_tag_of_its_frame_is_put_in_cdata(body: str) -> None:
    text = content(body).text()
    assert text.splitlines()[0] == '<fd_content fd="fd:1" body="cdata">'
    assert ElementTree.fromstring(text).text == f"\n{body}\n"


def test_a_preview_with_a_closing_tag_is_put_in_cdata() -> None:
    frame = Frame(name="fd_result", attributes={"fd": "fd:1"}, message="m", preview="a</preview>b")
    assert ElementTree.fromstring(frame.text()).findtext("preview") == "\n  a</preview>b\n  "


def test_a_body_is_escaped_where_that_is_configured() -> None:
    assert content("a</fd_content>&", body="xml").text().splitlines()[1] == "a&lt;/fd_content&gt;&amp;"


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
