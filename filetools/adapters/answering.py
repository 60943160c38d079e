"""What adapters say of failures, and how they answer callers that wait in another thread."""

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
"""How long the loop may take to begin a call of another thread."""
_AWAIT: Final = (
    "The workspace's event loop must run in another thread, and be free; on it, await the async twin of this call"
)


def telling(names: str, **actions: str) -> Callable[[FileToolsError], str]:
    """Return what says an error in the words of a framework: its sentence, a hint, and what is needed to repair the call.

    Args:
        names: Our tools that it has, "read_file list_files=ls", with what it calls them; hints leave out the others.
        actions: What to do next, by the code of an error, where ours says what cannot be done there.
    """
    called = {own: name or own for own, _, name in (each.partition("=") for each in names.split())}
    # Without parameters: its tools have others, and hints leave out ours.
    tools = {called[tool.name]: replace(tool, parameters=Parameters) for tool in FILE_TOOLS if tool.name in called}
    offered = Offered(tools, OWN_NAMES, Names(called=called, actions=actions))

    def told(error: FileToolsError) -> str:
        offered.rephrase(error, "")
        return shown_failure(failure_envelope(error), TextLimits()).text

    return told


class HomeLoop:
    """Runs an adapter's calls on the loop on which its workspace is open, from wherever they come."""

    def __init__(self, files: FileToolsFacade) -> None:
        self._loop = files.bus.loop

    def awaited(self, call: Call[P, T], /, *arguments: P.args, **options: P.kwargs) -> Coroutine[Any, Any, T]:
        """Run a call for whoever awaits it, on this loop or another; raises what `waited` does."""
        if asyncio.get_running_loop() is self._loop:
            return call(*arguments, **options)
        return asyncio.to_thread(lambda: self.waited(call, *arguments, **options))

    def waited(self, call: Call[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        """Run a call for a thread that waits for its end.

        Raises:
            RuntimeError: The loop has ended, is this thread's own, or begins nothing, as one that waits for this thread.
        """
        if not self._loop.is_running() or asyncio._get_running_loop() is self._loop:
            raise RuntimeError(_AWAIT)
        begun, turn = threading.Event(), threading.Lock()

        async def begin() -> T:
            if not turn.acquire(blocking=False):  # given up; a task that is cancelled now would begin all the same
                raise asyncio.CancelledError
            begun.set()
            return await call(*arguments, **options)

        done = asyncio.run_coroutine_threadsafe(begin(), self._loop)
        if not begun.wait(BEGIN_SECONDS) and turn.acquire(blocking=False):
            raise RuntimeError(f"{_AWAIT}; it did not start the call within {BEGIN_SECONDS:g} s")
        return done.result()
