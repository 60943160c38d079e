"""Ways to the door: standard input and output of the process, or HTTP."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from anyio import BrokenResourceError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from msgspec.structs import replace
from starlette.types import ASGIApp

from filetools.app.folders import Folder
from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.pipes import are_standard_pipes, standard_pipes
from filetools.servers.mcp.roots_door import OpenFolder, RootsDoor
from filetools.tools.call_log import CallLog

_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP")


async def until_signal(work: Coroutine[Any, Any, None]) -> signal.Signals | None:
    """Do what serves standard input and output, until it ends by itself or SIGTERM, SIGINT or SIGHUP cancels it.

    A second signal ends the process at once, which is safe at any moment, as every death of a process is.

    Returns:
        The signal, which the process should die of now that everything is closed; None if there was none.
    """
    if not are_standard_pipes():
        # A thread reads, which nothing interrupts: a handler would wait for the next line.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        await work
        return None
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        received.append(number)
        for each in awaited:
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)
        task.cancel()

    known = [signal.Signals[name] for name in _SIGNALS if hasattr(signal, name)]
    awaited = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]  # as nohup leaves SIGHUP
    for each in awaited:
        loop.add_signal_handler(each, partial(stop, each))
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
    return received[0] if received else None


async def run_until_cancelled(serving: Awaitable[None]) -> None:
    """Await what serves a connection; being cancelled ends it by CancelledError and nothing else.

    Where messages wait when it is cancelled, the SDK's relay meets the closed end of its own channel, and the
    task group turns the cancellation into a group of that (mcp 2.3, `serve_dual_era_loop`).
    """
    task = asyncio.current_task()
    try:
        await serving
    except BaseExceptionGroup as group:
        if task is None or not task.cancelling() or group.split(BrokenResourceError)[1] is not None:
            raise
        raise asyncio.CancelledError from group


async def serve_stdio(files: FileToolsFacade, options: DoorOptions) -> None:
    """Serve one client over standard input and output until it closes them; nothing else is written there.

    Args:
        files: The opened workspace.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The options name a tool or a group that there is none of.
    """
    async with (
        Registration(lambda: [files]) as registration,
        Door(files, options, registration=registration) as door,
        _standard_streams() as (incoming, outgoing),
    ):
        await run_until_cancelled(door.server.run(incoming, outgoing, door.initialization))


async def serve_roots_stdio(opener: OpenFolder, folders: Sequence[Folder], options: DoorOptions) -> None:
    """Serve one client, over standard input and output, several folders, or those that it tells itself.

    Args:
        opener: Opens the workspace of a folder.
        folders: What is served to a client that tells no roots of its own.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The options name no dialect of several roots, or a tool that there is none of.
        FileToolsError: None of the folders can be opened.
    """
    async with RootsDoor(opener, folders, options) as server, _standard_streams() as (incoming, outgoing):
        await run_until_cancelled(server.run(incoming, outgoing, server.create_initialization_options()))


@asynccontextmanager
async def _standard_streams() -> AsyncIterator[tuple[Any, Any]]:
    with standard_pipes() as pipes:
        if pipes is not None:
            yield pipes
            return
        async with stdio_server() as streams:
            yield streams


@asynccontextmanager
async def http_application(
    files: FileToolsFacade,
    options: DoorOptions,
    *,
    path: str = "/mcp",
    is_guarded: bool = False,
    log: CallLog | None = None,
    registration: Registration | None = None,
) -> AsyncIterator[ASGIApp]:
    """Make the ASGI application of the door, for a server that listens on this machine only.

    Who calls from elsewhere, and whether it may, is for the server around it; names of other hosts are refused.

    Args:
        files: The opened workspace.
        options: What the clients may do; they cannot use `file://`.
        path: Where the door is.
        is_guarded: Whether the server around it has made sure of host names and origins already.
        log: Where calls are logged; by default in one of its own.
        registration: Where calls are noted; None notes them nowhere.
    """
    async with (
        Door(files, replace(options, file_root=None, is_shared=True), log=log, registration=registration) as door,
        application_of(door, path=path, is_guarded=is_guarded) as application,
    ):
        yield application


@asynccontextmanager
async def application_of(door: Door, *, path: str = "/mcp", is_guarded: bool = False) -> AsyncIterator[ASGIApp]:
    """Make the ASGI application of a door that is open; see `http_application`.

    Args:
        door: The door.
        path: Where it is.
        is_guarded: Whether the server around it has made sure of host names and origins already.
    """
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False) if is_guarded else None
    application = door.server.streamable_http_app(streamable_http_path=path, transport_security=security)
    async with door.server.session_manager.run():
        yield application
