"""What adapters say of failures, and how they answer callers that wait in another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from filetools.errors import FileToolsError
from filetools.tools import FILE_TOOLS, TextLimits, failure_envelope, shown_failure
from filetools.tools.offered import Names, Offered
from filetools.tools.registry import OWN_NAMES

T = TypeVar("T")


def telling(names: str) -> Callable[[FileToolsError], str]:
    """Return what says an error in the words of a framework: its sentence, a hint, and what is needed to repair the call.

    Args:
        names: Our tools that it has, "read_file list_files=ls", with what it calls them; hints leave out the others.
    """
    called = {own: name or own for own, _, name in (each.partition("=") for each in names.split())}
    tools = {called[tool.name]: tool for tool in FILE_TOOLS if tool.name in called}
    offered = Offered(tools, OWN_NAMES, Names(called=called))

    def told(error: FileToolsError) -> str:
        offered.rephrase(error, "")
        return shown_failure(failure_envelope(error), TextLimits()).text

    return told


def wait_on(loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, T]) -> T:
    """Run a call on the loop of an adapter, for a thread that waits for its end.

    Raises:
        RuntimeError: The loop has ended, or this is its own thread, which would wait for itself.
    """
    if loop.is_closed() or asyncio._get_running_loop() is loop:
        call.close()
        raise RuntimeError(
            "The workspace's event loop must run in another thread; on it, await the async twin of this call"
        )
    return asyncio.run_coroutine_threadsafe(call, loop).result()
