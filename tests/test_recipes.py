"""What the recipes hand to other programs is what those programs take, by their own types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.declared import REPOSITORY
from tests.support.examples import blocks
from tests.support.session_oracle import INSTALLED, is_missing

RECIPES = blocks((REPOSITORY / "docs" / "guide" / "recipes.md").read_text(encoding="utf-8"))


@pytest.mark.skipif(is_missing(), reason="claude-agent-sdk is not installed; make oracle installs it")
def test_the_options_of_the_agent_sdk_are_its_own() -> None:
    """The SDK is imported in a process of its own, without the program that its wheels carry."""
    recipe = next(block.text for block in RECIPES if block.language == "py" and "ClaudeAgentOptions" in block.text)
    made, _, run = recipe.partition("\nasync for ")
    assert run.startswith("message in query(prompt=")
    shown = "{name: getattr(options, name) for name in ('mcp_servers', 'tools', 'allowed_tools', 'strict_mcp_config')}"
    fields = "[field.name for field in dataclasses.fields(options)]"
    program = f"import dataclasses, json\n{made}\nprint(json.dumps([{shown}, {fields}]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(INSTALLED)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    options, names = json.loads(done.stdout)
    assert set(options) <= set(names)
    assert options == {
        "mcp_servers": {"files": {"command": "filetools", "args": ["mcp", ".", "--dialect", "claude-code"]}},
        "tools": [],
        "allowed_tools": ["mcp__files"],
        "strict_mcp_config": True,
    }


def test_what_an_editor_hands_an_agent_is_what_the_agent_client_protocol_takes() -> None:
    schema = pytest.importorskip("acp.schema")
    recipe = json.loads(next(block.text for block in RECIPES if '"session/new"' in block.text))
    request: Any = schema.NewSessionRequest.model_validate(recipe["params"])
    [server] = request.mcp_servers
    assert (server.command, server.args) == ("filetools", ["mcp", "/path/to/project"])
    capabilities = schema.FileSystemCapabilities.model_validate({"readTextFile": False, "writeTextFile": False})
    assert (capabilities.read_text_file, capabilities.write_text_file) == (False, False)
