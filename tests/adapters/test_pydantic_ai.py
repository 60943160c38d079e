"""The adapter of pydantic-ai, by the framework's own suite and over its own file tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import filetools

pytest.importorskip("pydantic_ai")

from filetools.adapters.pydantic_ai import FileToolsWorkspace
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite


class TestTheSuiteOfTheFramework(WorkspaceBackendSuite):
    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[FileToolsWorkspace]:
        async with filetools.open(tmp_path) as files:
            yield FileToolsWorkspace(files.for_actor(filetools.Actor(kind="agent", id="alice")))
