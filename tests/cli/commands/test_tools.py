from __future__ import annotations

import json

import pytest

from filetools.tools.exports import FORMATS, ExportFormat, exported
from filetools.tools.registry import FILE_TOOLS, chosen
from tests.support.terminal import CommandLine


@pytest.mark.parametrize("arguments", ["{bad", "[]"])
def test_call_refuses_what_is_no_json_object(run: CommandLine, arguments: str) -> None:
    done = run("call", "read_file", arguments)
    assert (done.code, done.text) == (2, "")


def test_call_prints_the_envelope_of_a_failure_and_its_exit_code(run: CommandLine) -> None:
    done = run("call", "read_file", '{"path": "nope"}')
    assert (done.code, done.json["error_code"], done.error) == (1, "FILE_NOT_FOUND", "")
    assert run("call", "nope").code == 2


def test_call_takes_arguments_from_standard_input(run: CommandLine) -> None:
    done = run("call", "read_file", "-", stdin=b'{"path": "notes.md"}')
    assert (done.code, done.json["data"]["content"]) == (0, "notes\n")


def test_tools_lists_every_tool_and_makes_no_workspace(run: CommandLine) -> None:
    assert run("tools", "--format", "yaml").code == 2
    definitions = json.loads(run("tools", "--json").text)
    assert definitions == [tool.definition() for tool in FILE_TOOLS]
    assert [tool.name for tool in FILE_TOOLS if tool.name not in run("tools").text] == []
    assert not (run.folder / ".filetools").exists()


def test_a_tool_that_there_is_not_is_not_left_out_in_silence(run: CommandLine) -> None:
    done = run("tools", "--format", "anthropic", "--tools", "core,raed_file")
    assert (done.code, done.text) == (2, "")
    assert "did you mean 'read_file'" in done.error


@pytest.mark.parametrize("form", FORMATS)
def test_tools_prints_the_default_set_for_the_interface_of_a_model(run: CommandLine, form: ExportFormat) -> None:
    assert json.loads(run("tools", "--format", form).text) == exported(chosen(FILE_TOOLS, ["core"]), form)


def test_tools_of_a_dialect_are_those_that_a_provider_knows_by_itself(run: CommandLine) -> None:
    assert run("tools", "--dialect", "nope").code == 2
    hosted = run("tools", "--dialect", "text-editor", "--format", "anthropic")
    assert json.loads(hosted.text) == [{"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}]
    assert json.loads(run("tools", "--dialect", "apply-patch", "--format", "openai-responses").text) == [
        {"type": "apply_patch"}
    ]
    elsewhere = json.loads(run("tools", "--dialect", "text-editor", "--format", "openai-chat").text)
    assert elsewhere[0]["function"]["name"] == "str_replace_based_edit_tool"
    assert "Grep" in run("tools", "--dialect", "claude-code").text
