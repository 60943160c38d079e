"""`make bench-adapters`: what a read and a write through an adapter cost beside the same call of ours, and what edits are lost.

Of each framework that is installed. The table of losses has its edit tool over our adapter, and over files as the framework,
or its users, read and write them: two agents make 240 edits of lines of their own in one file. Counts, not times.

Usage: python -m benchmarks.bench_adapters [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import filetools
from benchmarks.measure import Act, compared, dose, interleaved, print_heading, publish, settle, text_of
from filetools.distribution import installed_version
from filetools.facade.facade import FileToolsFacade
from filetools.tools.dialects import APPLY_PATCH
from filetools.tools.exports import answer
from filetools.tools.registry import ToolRegistry
from filetools.tools.seen import ShownCall
from tests.support.framework_agents import MODULES, in_one_process, in_two_processes

SIZES: Final = (1024, 64 * 1024)
LIMIT: Final = 1.2
CALLS: Final = 20
FILE: Final = "notes.txt"
PACKAGES: Final = {
    "pydantic-ai": ("pydantic-ai-slim", "pydantic-ai-harness"),
    "deepagents": ("deepagents",),
    "langchain": ("langchain-core",),
    "openai-agents": ("openai-agents",),
}

Call = Callable[[str, dict[str, Any]], Any]
Pairs = dict[str, tuple[Act, Act]]
"""By the name of a call: through the adapter, and the same call of ours."""


def main() -> None:
    """Measure and report."""
    present = [name for name, module in MODULES.items() if find_spec(module) is not None]
    print_heading()
    for name in present:
        for size in SIZES:
            asyncio.run(_costs(name, size, dose(7)))
    print(f"\nedits lost, {datetime.now(UTC):%Y-%m-%d}, filetools {installed_version()}")
    print(f"{'':<52} {'':<5} {'one process':>31} {'two processes':>31}")
    for name in present:
        versions = ", ".join(f"{each} {installed_version(each)}" for each in PACKAGES[name])
        for layer in ("own", "ours"):
            counts = [asyncio.run(_lost(how, layer, name)) for how in (in_one_process, in_two_processes)]
            print(f"{versions:<52} {layer:<5} {counts[0]:>31} {counts[1]:>31}", flush=True)
    for name in MODULES.keys() - set(present):
        print(f"{name} is not installed")


async def _costs(name: str, size: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(text_of(size, 0))
        async with filetools.open(folder, settings={"watch": False}) as files:
            agent = files.for_actor(filetools.Actor(kind="agent", id="alice"))
            pairs = PAIRS[name](agent, Path(folder), size)
            await settle()
            for call, (ours, floor) in pairs.items():
                await agent.read_file(FILE)  # whoever has seen a part only is refused to replace the whole
                times = await interleaved({"adapter": ours, "facade": floor}, rounds=rounds, calls=CALLS)
                title = f"{name}: {call} of {size // 1024} KB"
                publish(compared("-", title, times["adapter"], times["facade"], limit=LIMIT, floor_name="facade"))


def _texts(size: int) -> Iterator[str]:
    return (text_of(size, number) for number in count(1))


def _pydantic_ai(files: FileToolsFacade, root: Path, size: int) -> Pairs:
    from filetools.adapters.pydantic_ai import FileToolsWorkspace

    workspace, texts, path = FileToolsWorkspace(files), _texts(size), str(root / FILE)

    async def write() -> None:
        await workspace.write_bytes(path, next(texts).encode())

    async def our_write() -> None:
        await files.write_file(FILE, next(texts), newline="exact", require_read=True)

    return {
        "read": (lambda: workspace.read_bytes(path), lambda: files.read_file(FILE)),
        "write": (write, our_write),
    }


def _deepagents(files: FileToolsFacade, root: Path, size: int) -> Pairs:
    from filetools.adapters.deepagents import FileToolsBackend

    backend, texts = FileToolsBackend(files), _texts(size)
    lines = partial(files.read_file, FILE, offset=1, limit=2000, max_characters=files.settings.max_text_characters)

    async def write() -> None:
        assert (await backend.awrite(f"/{FILE}", next(texts))).error is None

    async def our_write() -> None:
        await files.write_file(FILE, next(texts), require_read=True)

    return {
        "read": (lambda: backend.aread(f"/{FILE}"), lines),
        "write": (write, our_write),
    }


def _langchain(files: FileToolsFacade, root: Path, size: int) -> Pairs:
    from filetools.adapters.langchain import langchain_tools

    tools: dict[str, Any] = {tool.name: tool.coroutine for tool in langchain_tools(files)}
    registry = ToolRegistry(files)
    return _tool_pairs(files, size, lambda name, arguments: tools[name](**arguments), partial(_shown, registry))


def _openai_agents(files: FileToolsFacade, root: Path, size: int) -> Pairs:
    from agents import ApplyPatchOperation

    from filetools.adapters.openai_agents import FileToolsEditor, function_tools

    tools = {tool.name: tool.on_invoke_tool for tool in function_tools(files)}
    calls, numbers = count(), count()
    editor, dialect = FileToolsEditor(files), APPLY_PATCH.registry(files)

    def call(name: str, arguments: dict[str, Any]) -> Any:
        context: Any = SimpleNamespace(tool_call_id=f"call-{next(calls)}")
        return tools[name](context, json.dumps(arguments))

    def operation() -> dict[str, str]:
        number = next(numbers)
        return {"type": "update_file", "path": FILE, "diff": f"@@\n-{number:015d}\n+{number + 1:015d}\n"}

    async def patch() -> None:
        asked = operation()
        operated = ApplyPatchOperation(type="update_file", path=asked["path"], diff=asked["diff"])
        assert (await editor.update_file(operated)).status == "completed"

    async def our_patch() -> None:
        assert not (await _shown(dialect, "apply_patch", {"operation": operation()})).is_error

    registry = ToolRegistry(files)

    def our_call(name: str, arguments: dict[str, Any]) -> Any:
        item = {
            "type": "function_call",
            "call_id": f"call-{next(calls)}",
            "name": name,
            "arguments": json.dumps(arguments),
        }
        return answer(registry, item)

    return {"patch": (patch, our_patch), **_tool_pairs(files, size, call, our_call)}


def _tool_pairs(files: FileToolsFacade, size: int, call: Call, our_call: Call) -> Pairs:
    texts = _texts(size)

    async def write(run: Call) -> None:
        version = (await files.read_file(FILE)).version
        await run("write_file", {"path": FILE, "content": next(texts), "expected_version": version})

    return {
        "read": (lambda: call("read_file", {"path": FILE}), lambda: our_call("read_file", {"path": FILE})),
        "write": (lambda: write(call), lambda: write(our_call)),
    }


async def _shown(registry: ToolRegistry, name: str, arguments: dict[str, Any]) -> ShownCall:
    """What any door of ours does for a model: the call, and its result as text."""
    return registry.show(name, await registry.call(name, arguments))


async def _lost(how: Callable[..., Any], layer: str, name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        counts = await how(layer, name, Path(folder))
    return f"{counts['edits']} made, {counts['lost']} lost, {counts['refused']} refused"


PAIRS: Final[dict[str, Callable[[FileToolsFacade, Path, int], Pairs]]] = {
    "pydantic-ai": _pydantic_ai,
    "deepagents": _deepagents,
    "langchain": _langchain,
    "openai-agents": _openai_agents,
}

if __name__ == "__main__":
    main()
