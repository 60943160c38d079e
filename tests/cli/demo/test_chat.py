"""The demo's client of an agent, with the package openai and without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from filetools.cli.demo.agent import REPORT
from filetools.cli.demo.chat import Client, served


def heard(client: Client) -> tuple[str, list[str]]:
    """Return what the agent says, and the files that it has created."""
    parts: list[dict[str, Any]] = list(client.chat("Review the plan."))
    text = "".join(choice["delta"].get("content") or "" for part in parts for choice in part["choices"])
    return text, [file["relative_path"] for part in parts for file in part.get("files_created", ())]


def test_with_the_package_and_without_it_the_same_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.md").write_text("draft\n")
    with served(tmp_path) as (lines, client):
        assert len(lines) == 3
        by_package = heard(client)
        assert client.undo("run-000000000000000") is False
        (tmp_path / REPORT).unlink()
        (tmp_path / "plan.md").write_text("draft\n")
        monkeypatch.setitem(sys.modules, "openai", None)
        assert heard(client) == by_package
    assert by_package[1] == [REPORT]
