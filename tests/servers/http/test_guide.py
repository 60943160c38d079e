"""The requests in the guide are sent to a server, and answered as it says."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support.declared import REPOSITORY
from tests.support.examples import assert_matches, blocks, commands
from tests.support.http_servers import HttpServer

GUIDE = REPOSITORY / "docs" / "http.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are commands of curl")
def test_the_examples_are_answered_as_the_guide_says(server: HttpServer) -> None:
    examples = [block for block in blocks(GUIDE.read_text(encoding="utf-8")) if block.language == "curl"]
    assert len(examples) >= 3
    for block in examples:
        for command, expected in commands(block.text):
            assert command.startswith("curl -s")
            done = subprocess.run(
                command, shell=True, env={
                    "ADDRESS": server.address, "AUTH": f"Authorization: Bearer {server.token}", "PATH": "/usr/bin:/bin"
                }, capture_output=True,
                check=True, text=True, timeout=60, cwd=server.root,
            )  # fmt: skip
            assert_matches(done.stdout, expected)
