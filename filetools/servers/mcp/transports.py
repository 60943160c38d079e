"""Transports: standard input and output of the process, or HTTP.

Pipes are read on the event loop. The SDK's own streams read in a thread that no signal interrupts, so that SIGTERM would wait
for the client's next line; they also do not respond to invalid lines, and take a third of the time of a small call.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any, Final

import anyio
from anyio import BrokenResourceError
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    RequestId,
    jsonrpc_message_adapter,
)
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.types import ASGIApp

from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.options import McpOptions
from filetools.servers.mcp.roots_server import Folder, OpenFolder, roots_server
from filetools.servers.mcp.server import McpServer
from filetools.tools.call_log import CallLog

if sys.platform == "linux":
    import fcntl

CHUNK_BYTES: Final = 256 * 1024
MCP_PATH: Final = "/mcp"
"""URL path of the server over HTTP."""
KEPT_BYTES: Final = 8 * 1024 * 1024
"""glibc keeps up to twice as much memory for the next large response; see `M_MMAP_THRESHOLD` in `mallopt(3)`."""
CLOSE_SECONDS: Final = 2.0
"""How long a server that ends waits for a client that does not read."""
PIPE_BYTES: Final = 1024 * 1024
"""Pipe capacity that holds a whole response; with the default of 64 KiB, reader and writer must alternate."""


class MessageReader(ObjectReceiveStream["SessionMessage | Exception"]):
    """Reads messages, one per line, from a non-blocking descriptor.

    It reads only on demand, so that a client that sends faster than it is served must wait.

    Args:
        descriptor: The descriptor to read.
        answering: Sends the client an error for an invalid line.
    """

    def __init__(self, descriptor: int, answering: MessageWriter) -> None:
        self._descriptor = descriptor
        self._answering = answering
        self._held = bytearray()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or the error in it; an invalid line does not end the connection.

        Raises:
            anyio.EndOfStream: There are no more.
        """
        while (line := await self._line()).isspace():
            pass
        if not line:
            raise anyio.EndOfStream
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as exc:
            # The SDK's dispatcher ignores it, so the client would wait for a response.
            await self._answering.send(SessionMessage(_answer_to(line, exc)))
            return exc

    async def aclose(self) -> None:
        """Do nothing: the owner closes the descriptor."""

    async def _line(self) -> bytes:
        """Return the next line; the last one need not have an end. Empty after the last."""
        # Lines that arrive together must not block the loop from running what the first one started.
        await asyncio.sleep(0)
        searched = 0
        while (end := self._held.find(b"\n", searched)) < 0:
            searched = len(self._held)
            self._held += await self._read()
            if len(self._held) == searched:
                break
        line = bytes(self._held[: end + 1] if end >= 0 else self._held)
        del self._held[: len(line)]
        return line

    async def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, CHUNK_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(self._descriptor)


class MessageWriter(ObjectSendStream[SessionMessage]):
    """Writes messages, one per line, to a non-blocking descriptor.

    A started message is always written to its end, even if its sender is cancelled: a partial line would corrupt the
    next message.

    Args:
        descriptor: The descriptor to write.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Send a message, and wait until the client has room for it.

        Raises:
            anyio.BrokenResourceError: The client has closed its end.
        """
        line = jsonrpc_message_adapter.dump_json(item.message, by_alias=True, exclude_unset=True) + b"\n"
        writing = asyncio.ensure_future(self._write(line))
        # Retrieves the outcome: a cancelled sender does not wait for it.
        writing.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(writing)

    async def aclose(self) -> None:
        """Wait until everything is written, the client has closed its end, or it has not read for `CLOSE_SECONDS`."""
        with anyio.move_on_after(CLOSE_SECONDS):
            async with self._turn:
                pass

    async def _write(self, line: bytes) -> None:
        async with self._turn:
            left = memoryview(line)
            while left:
                try:
                    left = left[os.write(self._descriptor, left) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._descriptor)
                except OSError as exc:
                    raise BrokenResourceError from exc

    def stop(self) -> None:
        """Stop writing; nothing more can be sent."""
        anyio.notify_closing(self._descriptor)
        self._descriptor = -1


def _answer_to(line: bytes, error: ValidationError) -> JSONRPCError:
    """Return the error response for an invalid line, with the ID of its request if there is one.

    Source: JSON-RPC 2.0, section 5.1.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    is_json = first["type"] != "json_invalid"
    message = "The line is not a JSON-RPC message" if is_json else f"The line is not JSON: {first['msg']}"
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=ErrorData(code=code, message=message))


def _id_in(line: bytes) -> RequestId | None:
    try:
        # More lenient than the message parser: a lone surrogate or an invalid byte must not hide the ID.
        plain: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    found: object = plain.get("id") if isinstance(plain, dict) and "method" in plain else None
    return found if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool)) else None


def are_standard_pipes() -> bool:
    """Return True if the loop can wait for standard input and output: pipes or sockets, on a POSIX system."""
    try:
        modes = [os.fstat(descriptor).st_mode for descriptor in range(3)]
    except OSError:  # one is closed
        return False
    return os.name == "posix" and all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes[:2])


@asynccontextmanager
async def standard_streams() -> AsyncIterator[tuple[Any, Any]]:
    """Reserve standard input and output for the protocol, and restore them at the end.

    Meanwhile other readers find standard input empty, and printed text goes to standard error. If the loop cannot wait for
    the streams (files, terminals, and systems other than POSIX), the SDK's own streams are used.
    """
    if not are_standard_pipes():
        async with stdio_server() as streams:
            yield streams
        return
    sys.stdout.flush()
    with ExitStack() as stack:
        incoming = stack.enter_context(_taken(0, os.open(os.devnull, os.O_RDONLY)))
        outgoing = stack.enter_context(_taken(1, os.dup(2)))
        if sys.platform == "linux":
            with suppress(OSError):  # a socket, or over this user's limit
                fcntl.fcntl(outgoing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        # Freeing this block raises glibc's mmap threshold, so that later blocks of this size are kept: mapping new pages took
        # half the time of a 1 MB response. The block is never touched and so uses no memory.
        bytes(KEPT_BYTES)
        writer = MessageWriter(outgoing)
        try:
            yield MessageReader(incoming, writer), writer
        finally:
            writer.stop()


@contextmanager
def _taken(descriptor: int, instead: int) -> Iterator[int]:
    """Replace a descriptor by another file, and yield a private, non-blocking duplicate of the original."""
    private = os.dup(descriptor)
    was_blocking = os.get_blocking(private)
    try:
        os.dup2(instead, descriptor)
        os.close(instead)
        os.set_blocking(private, False)
        yield private
    finally:
        # O_NONBLOCK belongs to the open pipe, which the parent process may share.
        os.set_blocking(private, was_blocking)
        os.dup2(private, descriptor)
        os.close(private)


_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP")


async def until_signal(work: Coroutine[Any, Any, None]) -> signal.Signals | None:
    """Run work that serves standard input and output until it ends, or SIGTERM, SIGINT or SIGHUP cancels it.

    A second signal kills the process at once, which is safe at any moment.

    Returns:
        The signal, which the process should now die of since everything is closed; None if there was none.
    """
    if not are_standard_pipes():
        # A thread reads and cannot be interrupted: a handler would wait for the next line.
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
    awaited = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    for each in awaited:
        loop.add_signal_handler(each, partial(stop, each))
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
    return received[0] if received else None


async def run_until_cancelled(serving: Awaitable[None]) -> None:
    """Serve a connection; if cancelled, raise CancelledError and nothing else.

    If messages are pending when it is cancelled, the SDK's relay finds its own channel closed, and the task group replaces
    the cancellation by a group with that error (mcp 2.3, `serve_dual_era_loop`).
    """
    task = asyncio.current_task()
    try:
        await serving
    except BaseExceptionGroup as group:
        if task is None or not task.cancelling() or group.split(BrokenResourceError)[1] is not None:
            raise
        raise asyncio.CancelledError from group


async def serve_stdio(files: FileToolsFacade, options: McpOptions) -> None:
    """Serve one client over standard input and output until it closes them; nothing else is written to them.

    Args:
        files: The open workspace.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The options name an unknown tool or group.
    """
    async with (
        Registration(lambda: [files]) as registration,
        McpServer(files, options, registration=registration) as mcp_server,
        standard_streams() as (incoming, outgoing),
    ):
        server = mcp_server.server
        handshake = server.create_initialization_options(NotificationOptions(resources_changed=True))
        await run_until_cancelled(server.run(incoming, outgoing, handshake))


async def serve_roots_stdio(opener: OpenFolder, folders: Sequence[Folder], options: McpOptions) -> None:
    """Serve several folders to one client over standard input and output; the client's own roots take precedence.

    Args:
        opener: Opens the workspace of a folder.
        folders: Folders served to a client that reports no roots.
        options: What the client may do.

    Raises:
        InvalidArgumentError: The dialect does not support several roots, or the options name an unknown tool.
        FileToolsError: None of the folders can be opened.
    """
    async with roots_server(opener, folders, options) as server, standard_streams() as (incoming, outgoing):
        await run_until_cancelled(server.run(incoming, outgoing, server.create_initialization_options()))


@asynccontextmanager
async def http_application(
    files: FileToolsFacade,
    options: McpOptions,
    *,
    is_guarded: bool = False,
    log: CallLog | None = None,
    registration: Registration | None = None,
) -> AsyncIterator[ASGIApp]:
    """Build the ASGI application of the MCP server, for an HTTP server that listens on this machine only.

    Access from other machines is the responsibility of the surrounding server; other host names are refused.

    Args:
        files: The open workspace.
        options: What the clients may do; they cannot use `file://`.
        is_guarded: True if the surrounding server has already checked host names and origins.
        log: Log of the calls; by default a new one.
        registration: Records that calls happen; None records nothing.
    """
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False) if is_guarded else None
    options = replace(options, file_root=None, is_shared=True)
    async with McpServer(files, options, log=log, registration=registration) as mcp_server:
        application = mcp_server.server.streamable_http_app(streamable_http_path=MCP_PATH, transport_security=security)
        async with mcp_server.server.session_manager.run():
            yield application
