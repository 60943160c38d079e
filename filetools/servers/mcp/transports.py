"""Ways to the tools: standard input and output of the process, or HTTP.

The SDK's own streams read in a thread, which no signal interrupts: SIGTERM would wait for the client's next line. They leave
a line that is not a message without an answer, and cost a small call a third of its time. So pipes are read on the loop.
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
from types import TracebackType
from typing import Any, Final, Self

import anyio
from anyio import BrokenResourceError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.types import ASGIApp

from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.servers.mcp.door import Door
from filetools.servers.mcp.options import DoorOptions
from filetools.servers.mcp.roots_door import Folder, OpenFolder, roots_server
from filetools.tools.call_log import CallLog

if sys.platform == "linux":
    import fcntl

CHUNK_BYTES: Final = 256 * 1024
KEPT_BYTES: Final = 8 * 1024 * 1024
"""Up to twice as much is kept for the next large answer; see `mallopt(3)` on `M_MMAP_THRESHOLD`."""
PIPE_BYTES: Final = 1024 * 1024
"""Room for an answer in one go; a pipe has 64 KiB by itself, and more than that takes turns of both sides."""


class _Stream:
    async def aclose(self) -> None:
        """End the use of the stream; the descriptor is its owner's."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class MessageReader(_Stream):
    """Messages, one a line, from a descriptor that does not block; lives as long as the transport.

    It reads no further than it is asked for, so that a client that sends faster than it is served has to wait.

    Args:
        descriptor: Where they come from.
        answering: Sends the client an error for a line that is not a message; with None only the reader gets it.
    """

    def __init__(self, descriptor: int, answering: MessageWriter | None = None) -> None:
        self._descriptor = descriptor
        self._answering = answering
        self._held = bytearray()
        self._is_ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        line = await self._line()
        while line is not None and line.isspace():
            line = await self._line()
        if line is None:
            raise StopAsyncIteration
        try:
            return SessionMessage(_message(line))
        except ValidationError as exc:  # a bad line goes to the dispatcher, and ends nothing
            if self._answering is not None:
                # The SDK's dispatcher ignores it, and the client would wait.
                await self._answering.send(SessionMessage(_answer_to(line, exc)))
            return exc

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or what is wrong with it.

        Raises:
            anyio.EndOfStream: There are no more.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _line(self) -> bytes | None:
        searched = 0
        if b"\n" in self._held:
            # Lines that came together must not keep the loop from what the first of them has started.
            await asyncio.sleep(0)
        while (end := self._held.find(b"\n", searched)) < 0:
            if self._is_ended:
                return self._taken(len(self._held)) if self._held else None
            searched = len(self._held)
            piece = await self._read()
            self._is_ended = not piece
            self._held += piece
        return self._taken(end + 1)

    def _taken(self, count: int) -> bytes:
        line = bytes(self._held[:count])
        del self._held[:count]
        return line

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            with suppress(BlockingIOError):
                return os.read(self._descriptor, CHUNK_BYTES)
            ready = asyncio.Event()
            loop.add_reader(self._descriptor, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(self._descriptor)


class MessageWriter(_Stream):
    """Messages, one a line, to a descriptor that does not block; lives as long as the transport.

    A message that was begun is written to its end, also if its sender is cancelled meanwhile: half a line would
    take the next one with it.

    Args:
        descriptor: Where they go.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._left = bytearray()
        self._is_written = asyncio.Event()
        self._is_written.set()
        self._is_broken = False

    async def send(self, item: SessionMessage) -> None:
        """Send a message, and wait while the client does not take it.

        Raises:
            anyio.BrokenResourceError: The client has closed its end.
        """
        line = jsonrpc_message_adapter.dump_json(item.message, by_alias=True, exclude_unset=True) + b"\n"
        if not self._left and not self._is_broken:
            # Hardly ever is anything left to do after this.
            line = line[self._write(line) :]
        if line and not self._is_broken:
            self._keep(line)
            await self._is_written.wait()
        if self._is_broken:
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Wait until everything is written, or the client has closed its end."""
        await self._is_written.wait()

    def _write(self, content: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, content)
        except BlockingIOError:
            return 0
        except OSError:
            self._is_broken = True
            return 0

    def _keep(self, line: bytes) -> None:
        if not self._left:
            self._is_written.clear()
            asyncio.get_running_loop().add_writer(self._descriptor, self._go_on)
        self._left += line

    def _go_on(self) -> None:
        del self._left[: self._write(self._left)]
        if self._is_broken or not self._left:
            self._left.clear()
            self.stop()

    def stop(self) -> None:
        """Write no more."""
        asyncio.get_running_loop().remove_writer(self._descriptor)
        self._is_written.set()


def _message(line: bytes) -> JSONRPCMessage:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        # Half a pair of surrogates in a text is JSON all the same; the parameter that holds it is refused by its name.
        if b"\\ud" not in line.lower():
            raise
        try:
            plain: object = json.loads(line)
        except (ValueError, RecursionError):
            pass
        else:
            return jsonrpc_message_adapter.validate_python(plain, by_name=False)
        raise


def _answer_to(line: bytes, error: ValidationError) -> JSONRPCError:
    """Return the error for a line that is not a message, with the id of its request if there is one.

    Source: JSON-RPC 2.0, section 5.1.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    is_json = first["type"] != "json_invalid"
    message = "This is not a JSON-RPC message" if is_json else f"This is not JSON: {first['msg']}"
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=ErrorData(code=code, message=message))


def _id_in(line: bytes) -> RequestId | None:
    try:
        # More lenient than the reader of messages: half a pair of surrogates, or a broken byte, does not hide the id.
        plain: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    found: object = plain.get("id") if isinstance(plain, dict) and "method" in plain else None
    return found if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool)) else None


def are_standard_pipes() -> bool:
    """Whether the loop can wait for standard input and output: they are pipes or sockets, and the system is POSIX."""
    modes = [_mode(descriptor) for descriptor in range(3)]
    return os.name == "posix" and all(modes) and all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes[:2])


@asynccontextmanager
async def standard_streams() -> AsyncIterator[tuple[Any, Any]]:
    """Take standard input and output for the protocol, and give them back at the end.

    Meanwhile other readers find nothing, and what is printed goes to standard error. Where the loop cannot wait for them
    (files, terminals, and systems other than POSIX) they are the SDK's own streams.
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
            with suppress(OSError):  # a socket, or more than this user may have
                fcntl.fcntl(outgoing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        # glibc keeps blocks up to the size of the largest one that it was given back: getting the pages anew took half of
        # the time of an answer of 1 MB. The block is never touched, and so takes no memory.
        bytes(KEPT_BYTES)
        writer = MessageWriter(outgoing)
        stack.callback(writer.stop)
        yield MessageReader(incoming, writer), writer


@contextmanager
def _taken(descriptor: int, instead: int) -> Iterator[int]:
    """Put another file in a descriptor's place, and return a private one of what was there, which does not block."""
    private = os.dup(descriptor)
    was_blocking = os.get_blocking(private)
    try:
        os.dup2(instead, descriptor)
        os.close(instead)
        os.set_blocking(private, False)
        yield private
    finally:
        # The mode belongs to the pipe, which the process that started this one may share.
        os.set_blocking(private, was_blocking)
        os.dup2(private, descriptor)
        os.close(private)


def _mode(descriptor: int) -> int:
    try:
        return os.fstat(descriptor).st_mode
    except OSError:  # closed
        return 0


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
        standard_streams() as (incoming, outgoing),
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
    async with roots_server(opener, folders, options) as server, standard_streams() as (incoming, outgoing):
        await run_until_cancelled(server.run(incoming, outgoing, server.create_initialization_options()))


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
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False) if is_guarded else None
    options = replace(options, file_root=None, is_shared=True)
    async with Door(files, options, log=log, registration=registration) as door:
        application = door.server.streamable_http_app(streamable_http_path=path, transport_security=security)
        async with door.server.session_manager.run():
            yield application
