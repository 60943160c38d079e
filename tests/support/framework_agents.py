"""Agents of frameworks that edit one file at once, each through its framework's own edit tool; also as a process of its own.

python -m tests.support.framework_agents LAYER FRAMEWORK ROOT AGENT
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import filetools
from filetools.facade.facade import FileToolsFacade

FILE: Final = "notes.txt"
LINES: Final = 2_000
ROUNDS: Final = 30
AGENTS: Final = ("alice", "bob")
EDITS_AT_ONCE: Final = 4
"""Of one agent."""

Edit = Callable[[str, str, str], Awaitable[None]]
"""Replaces a text in a file by another; raises what the framework tells of a refusal."""


class RefusedError(Exception):
    """Raised when a framework's tool answers that it did not do what was asked."""


def pydantic_ai(workspace: Any) -> Edit:
    """Return the edit tool of pydantic-ai-harness, which reads, changes and writes a file of its workspace."""
    from pydantic_ai_harness.filesystem import FileSystem, FileSystemToolset

    tools = FileSystem().get_toolset()
    assert isinstance(tools, FileSystemToolset)

    async def edit(path: str, old: str, new: str) -> None:
        said = await tools.edit_file(path, old, new, workspace=workspace)
        if not said.startswith("Edited "):
            raise RefusedError(said)

    return edit


def deepagents(backend: Any) -> Edit:
    """Return the edit tool that agents of deepagents have."""
    from deepagents.middleware.filesystem import FilesystemMiddleware

    tool = next(each for each in FilesystemMiddleware(backend=backend).tools if each.name == "edit_file")
    coroutine: Callable[..., Awaitable[Any]] = getattr(tool, "coroutine")  # noqa: B009 - of StructuredTool, not BaseTool

    async def edit(path: str, old: str, new: str) -> None:
        said = await coroutine(
            file_path=f"/{path}", old_string=old, new_string=new, runtime=SimpleNamespace(tool_call_id="1")
        )
        if said.status == "error":
            raise RefusedError(said.content)

    return edit


def langchain(tools: list[Any]) -> Edit:
    """Return a tool of LangChain, called as its agents call tools."""
    tool = next(each for each in tools if each.name == "edit_file")

    async def edit(path: str, old: str, new: str) -> None:
        arguments = {"path": path, "old_string": old, "new_string": new}
        said = await tool.ainvoke({"type": "tool_call", "id": "1", "name": "edit_file", "args": arguments})
        if said.status == "error":
            raise RefusedError(said.content)

    return edit


def openai_agents(editor: Any) -> Edit:
    """Return a run of OpenAI Agents whose scripted model asks for a patch once, then ends."""
    from agents import Agent, ApplyPatchTool, Runner, set_tracing_disabled
    from agents.items import ToolCallOutputItem
    from agents.testing import ScriptedModel, assistant_message
    from openai.types.responses import ResponseApplyPatchToolCall

    set_tracing_disabled(True)
    logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # it logs each patch that does not fit

    async def edit(path: str, old: str, new: str) -> None:
        diff = f"@@\n-{old}+{new}"
        call = ResponseApplyPatchToolCall.model_validate(
            {
                "type": "apply_patch_call", "id": "1", "call_id": "1", "status": "completed",
                "operation": {"type": "update_file", "path": path, "diff": diff},
            }
        )  # fmt: skip
        model = ScriptedModel([[call], [assistant_message("done")]])
        agent = Agent(name="agent", model=model, tools=[ApplyPatchTool(editor=editor)])
        result = await Runner.run(agent, "Go.")
        said: Any = next(item.raw_item for item in result.new_items if isinstance(item, ToolCallOutputItem))
        if said["status"] == "failed":
            raise RefusedError(said["output"])

    return edit


def _our_pydantic_ai(files: FileToolsFacade) -> Edit:
    from filetools.adapters.pydantic_ai import FileToolsWorkspace

    return pydantic_ai(FileToolsWorkspace(files))


def _our_deepagents(files: FileToolsFacade) -> Edit:
    from filetools.adapters.deepagents import FileToolsBackend

    return deepagents(FileToolsBackend(files))


def _our_langchain(files: FileToolsFacade) -> Edit:
    from filetools.adapters.langchain import langchain_tools

    return langchain(langchain_tools(files))


def _our_openai_agents(files: FileToolsFacade) -> Edit:
    from filetools.adapters.openai_agents import FileToolsEditor

    return openai_agents(FileToolsEditor(files))


def _own_langchain(root: Path) -> Edit:
    """LangChain ships no tools for files: one as its users write it."""
    from langchain_core.tools import StructuredTool

    async def edit_file(path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file."""
        text = await asyncio.to_thread((root / path).read_text)
        if old_string not in text:
            raise RefusedError("not found")
        await asyncio.to_thread((root / path).write_text, text.replace(old_string, new_string, 1))
        return "done"

    return langchain([StructuredTool.from_function(coroutine=edit_file)])


OURS: Final[dict[str, Callable[[FileToolsFacade], Edit]]] = {
    "pydantic-ai": _our_pydantic_ai,
    "deepagents": _our_deepagents,
    "langchain": _our_langchain,
    "openai-agents": _our_openai_agents,
}
"""Each framework's edit tool over our adapter."""
OWN: Final[dict[str, Callable[[Path], Edit]]] = {
    "langchain": _own_langchain,
}
"""Each framework's edit tool over files as the framework, or its users, read and write them."""
MODULES: Final = {
    "pydantic-ai": "pydantic_ai_harness",
    "deepagents": "deepagents",
    "langchain": "langchain_core",
    "openai-agents": "agents",
}
"""What must be installed."""


def text_before() -> str:
    """Return the file before any edit."""
    return "".join(f"line {number}: start\n" for number in range(LINES))


def line(turn: int, editor: int) -> tuple[str, str]:
    """Return the line that an editor changes in a round, before and after; no two are neighbours."""
    number = (turn * EDITS_AT_ONCE * len(AGENTS) + editor) * 8
    return f"line {number}: start\n", f"line {number}: editor {editor} in round {turn}\n"


async def edit_rounds(edit: Edit, agent: str) -> dict[str, list[str]]:
    """Make an agent's edits, several at once, round by round; return the lines acknowledged and what was refused."""
    first = AGENTS.index(agent) * EDITS_AT_ONCE
    said: dict[str, list[str]] = {"acknowledged": [], "refused": []}

    async def one(turn: int, editor: int) -> None:
        old, new = line(turn, editor)
        try:
            await edit(FILE, old, new)
        except Exception as error:  # noqa: BLE001 - whatever a framework raises of a refusal
            said["refused"].append(f"{type(error).__name__}: {error}")
        else:
            said["acknowledged"].append(new)

    for turn in range(ROUNDS):
        await asyncio.gather(*(one(turn, first + place) for place in range(EDITS_AT_ONCE)))
    return said


def lost_of(root: Path, said: list[dict[str, list[str]]]) -> dict[str, int]:
    """Return how many edits were acknowledged, of those how many are not in the file, and how many were refused."""
    there = set((root / FILE).read_bytes().decode().splitlines(keepends=True))
    acknowledged = [each for answer in said for each in answer["acknowledged"]]
    lost = sum(each not in there for each in acknowledged)
    return {"edits": len(acknowledged), "lost": lost, "refused": sum(len(answer["refused"]) for answer in said)}


async def in_one_process(layer: str, framework: str, root: Path) -> dict[str, int]:
    """Have both agents edit at once, in this process; layer is "ours" or "own"."""
    (root / FILE).write_text(text_before())
    if layer == "own":
        editors = [OWN[framework](root) for _ in AGENTS]
        return lost_of(root, await asyncio.gather(*map(edit_rounds, editors, AGENTS)))
    async with filetools.open(root) as files:
        editors = [OURS[framework](files.for_actor(filetools.Actor(kind="agent", id=name))) for name in AGENTS]
        return lost_of(root, await asyncio.gather(*map(edit_rounds, editors, AGENTS)))


async def in_two_processes(layer: str, framework: str, root: Path) -> dict[str, int]:
    """Have both agents edit at once, each in a process of its own."""
    (root / FILE).write_text(text_before())
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.framework_agents", layer, framework, root, name,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        for name in AGENTS
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    return lost_of(root, [json.loads(output) for output, _ in outputs])


async def _alone(layer: str, framework: str, root: Path, agent: str) -> dict[str, list[str]]:
    if layer == "own":
        return await _when_told(OWN[framework](root), agent)
    async with filetools.open(root) as files:
        return await _when_told(OURS[framework](files.for_actor(filetools.Actor(kind="agent", id=agent))), agent)


async def _when_told(edit: Edit, agent: str) -> dict[str, list[str]]:
    print("ready", flush=True)  # noqa: T201 - to the process that started this one
    await asyncio.to_thread(sys.stdin.readline)
    return await edit_rounds(edit, agent)


if __name__ == "__main__":
    answers = asyncio.run(_alone(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]))
    print(json.dumps(answers))  # noqa: T201 - to the process that started this one
