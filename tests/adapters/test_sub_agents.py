"""Sub-agents of deepagents share a backend and a name; what one of them reads, another does not know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import filetools
from tests.adapters.conftest import World

pytest.importorskip("deepagents")

from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from filetools.adapters.deepagents import FileToolsBackend


class Scripted(GenericFakeChatModel):
    """A model whose n-th answer in a conversation is the n-th of its calls of tools, then what its last tool said."""

    calls: list[Any]
    """Name and arguments of a tool; or a list of such, called side by side."""
    before: Callable[[int], Any] | None = None
    """Awaited, with the number of the call, before it is made."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        return self

    def _answer(self, messages: list[BaseMessage]) -> ChatResult:
        number = sum(isinstance(each, AIMessage) for each in messages)
        if number == len(self.calls):
            said = AIMessage(str(messages[-1].content))
        else:
            wanted = self.calls[number] if isinstance(self.calls[number], list) else [self.calls[number]]
            said = AIMessage(
                "",
                tool_calls=[
                    {"name": name, "args": arguments, "id": f"{number}-{place}"}
                    for place, (name, arguments) in enumerate(wanted)
                ],
            )
        return ChatResult(generations=[ChatGeneration(message=said)])

    def _generate(self, messages: list[BaseMessage], *rest: Any, **options: Any) -> ChatResult:
        return self._answer(messages)

    async def _agenerate(self, messages: list[BaseMessage], *rest: Any, **options: Any) -> ChatResult:
        if self.before is not None:
            await self.before(sum(isinstance(each, AIMessage) for each in messages))
        return self._answer(messages)


def scripted(*calls: Any, before: Callable[[int], Any] | None = None) -> Scripted:
    return Scripted(messages=iter(()), calls=list(calls), before=before)


def with_sub_agents(backend: FileToolsBackend, *models: Scripted) -> Any:
    """Return an agent that has all of its sub-agents work at once."""
    subs: Any = [
        {"name": f"sub{number}", "description": "x", "system_prompt": "x", "model": model}
        for number, model in enumerate(models)
    ]
    tasks = [("task", {"description": "go", "subagent_type": each["name"]}) for each in subs]
    return create_deep_agent(model=scripted(tasks), backend=backend, subagents=subs)


def read(path: str = "/notes.txt") -> tuple[str, dict[str, Any]]:
    return "read_file", {"file_path": path}


def write(content: str, path: str = "/notes.txt") -> tuple[str, dict[str, Any]]:
    return "write_file", {"file_path": path, "content": content}


GO: Any = {"messages": [{"role": "user", "content": "go"}]}


def told(result: Any) -> list[str]:
    return [str(message.content) for message in result["messages"] if isinstance(message, ToolMessage)]


async def test_what_two_sub_agents_write_from_the_same_text_is_merged(world: World) -> None:
    have_read = [asyncio.Event(), asyncio.Event()]

    def waiting(me: int) -> Callable[[int], Any]:
        async def before(number: int) -> None:
            if number == 1:
                have_read[me].set()
                await have_read[1 - me].wait()

        return before

    models = [
        scripted(read(), write(text), before=waiting(me)) for me, text in enumerate(("ONE\ntwo\nthree\n", "one\ntwo\nTHREE\n"))
    ]  # fmt: skip
    result = await with_sub_agents(FileToolsBackend(world.files), *models).ainvoke(GO)
    assert told(result) == ["Updated file /notes.txt"] * 2
    assert (world.root / "notes.txt").read_text() == "ONE\ntwo\nTHREE\n"


async def test_what_another_sub_agent_reads_is_not_taken_for_read_by_the_one_that_writes(world: World) -> None:
    first_read, second_read = asyncio.Event(), asyncio.Event()

    async def first(number: int) -> None:
        if number == 1:
            first_read.set()
            await second_read.wait()

    async def second(number: int) -> None:
        if number == 0:
            await first_read.wait()
            await world.other.edit_file("notes.txt", old="three", new="bob's")
        else:
            second_read.set()

    models = scripted(read(), write("ONE\ntwo\nthree\n"), before=first), scripted(read(), before=second)
    await with_sub_agents(FileToolsBackend(world.files), *models).ainvoke(GO)
    assert (world.root / "notes.txt").read_text() == "ONE\ntwo\nbob's\n"


@pytest.mark.parametrize("is_awaited", [True, False])
async def test_a_sub_agent_that_has_not_read_a_file_does_not_replace_it(world: World, is_awaited: bool) -> None:
    backend = FileToolsBackend(world.files)
    await backend.aread("/notes.txt")
    agent = with_sub_agents(backend, scripted(write("mine\n")))
    result = await (agent.ainvoke(GO) if is_awaited else asyncio.to_thread(agent.invoke, GO))
    assert "VERSION_MISMATCH" in told(result)[0]
    assert (world.root / "notes.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_sub_agent_is_a_session_of_its_agent(world: World) -> None:
    alice = world.files.for_actor(filetools.Actor(kind="agent", id="alice", session="1"))
    await with_sub_agents(FileToolsBackend(alice), scripted(write("new\n", "/new.txt"))).ainvoke(GO)
    newest = (await world.files.latest_changes(1, path="new.txt"))[0].actor
    assert (newest.kind, newest.id) == ("agent", "alice")
    assert str(newest.session).startswith("1/tools:")


async def test_threads_of_one_agent_know_what_they_have_read_themselves(world: World) -> None:
    backend, saver = FileToolsBackend(world.files), InMemorySaver()

    async def turn(thread: str, *calls: Any) -> str:
        agent = create_deep_agent(model=scripted(*calls), backend=backend, checkpointer=saver)
        return told(await agent.ainvoke(GO, {"configurable": {"thread_id": thread}}))[-1]

    await turn("first", read())
    await world.other.edit_file("notes.txt", old="three", new="bob's")
    await turn("second", read())
    await turn("first", read("/twice.txt"), read("/twice.txt"), read("/twice.txt"), write("ONE\ntwo\nthree\n"))
    assert (world.root / "notes.txt").read_text() == "ONE\ntwo\nbob's\n"


async def test_a_model_that_was_shown_a_part_does_not_replace_the_whole(world: World) -> None:
    text = "".join(f"line {number} {'y' * 100}\n" for number in range(3000))
    (world.root / "wide.txt").write_text(text)
    agent = create_deep_agent(
        model=scripted(("read_file", {"file_path": "/wide.txt", "limit": 3000}), write("x\n", "/wide.txt")),
        backend=FileToolsBackend(world.files),
    )
    shown, refused = told(await agent.ainvoke(GO))
    assert "truncated due to size" not in shown  # it is a page of ours, and tells where the next one begins
    assert "next offset 455" in shown
    assert refused.startswith("VERSION_MISMATCH")
    assert "edit_file" in refused
    assert (world.root / "wide.txt").read_text() == text
