"""Error messages of adapters, and calls from other threads than that of the workspace."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from msgspec.structs import replace

from filetools.errors import FileToolsError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.answers.offered import Names, Offered
from filetools.tools.answers.seen import TextLimits
from filetools.tools.answers.shown import shown_failure
from filetools.tools.arguments import Parameters
from filetools.tools.envelope import failure_envelope
from filetools.tools.registry import FILE_TOOLS, OWN_NAMES

P = ParamSpec("P")
T = TypeVar("T")
Call: TypeAlias = Callable[P, Coroutine[Any, Any, T]]

BEGIN_SECONDS: Final = 10.0
"""Time within which the loop must start a call of another thread."""
_AWAIT: Final = (
    "The workspace's event loop must run in another thread, and be free; on it, await the async twin of this call"
)


def error_formatter(names: str, **actions: str) -> Callable[[FileToolsError], str]:
    """Return a function that formats an error for a framework: message, hint, and the details needed to correct the call.

    Args:
        names: Our tools that the framework has, with its names for them: "read_file list_files=ls". Hints omit the others.
        actions: Suggested actions by error code that replace ours.
    """
    called = {own: name or own for own, _, name in (each.partition("=") for each in names.split())}
    # Without parameters: the framework's tools have others, so hints omit ours.
    tools = {called[tool.name]: replace(tool, parameters=Parameters) for tool in FILE_TOOLS if tool.name in called}
    offered = Offered(tools, OWN_NAMES, Names(called=called, actions=actions))

    def formatted(error: FileToolsError) -> str:
        offered.rephrase(error, "")
        return shown_failure(failure_envelope(error), TextLimits()).text

    return formatted


class HomeLoop:
    """Runs the calls of an adapter on the event loop of its workspace, from any thread or loop."""

    def __init__(self, files: FileToolsFacade) -> None:
        self._loop = files.bus.loop

    def awaited(self, call: Call[P, T], /, *arguments: P.args, **options: P.kwargs) -> Coroutine[Any, Any, T]:
        """Run a call for a caller on this loop or another; raises the same errors as `waited`."""
        if asyncio.get_running_loop() is self._loop:
            return call(*arguments, **options)
        return asyncio.to_thread(lambda: self.waited(call, *arguments, **options))

    def waited(self, call: Call[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a call for a thread that blocks until it has ended.

        Raises:
            RuntimeError: The loop has ended, is this thread's own, or does not start the call, perhaps as it waits
                for this thread.
        """
        if not self._loop.is_running() or asyncio._get_running_loop() is self._loop:
            raise RuntimeError(_AWAIT)
        begun, turn = threading.Event(), threading.Lock()

        async def begin() -> T:
            if not turn.acquire(blocking=False):  # the caller has given up; a task cancelled now would still begin
                raise asyncio.CancelledError
            begun.set()
            return await call(*arguments, **options)

        done = asyncio.run_coroutine_threadsafe(begin(), self._loop)
        if not begun.wait(BEGIN_SECONDS) and turn.acquire(blocking=False):
            raise RuntimeError(f"{_AWAIT}; it did not start the call within {BEGIN_SECONDS:g} s")
        return done.result()
