"""Standard input and output as streams of messages on the event loop, where they are pipes.

The SDK's own streams read in a thread, which no signal interrupts: SIGTERM would wait for the client's next line. They leave
a line that is not a message without an answer, and cost a small call a third of its time.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Final, Self

import anyio
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
from pydantic import ValidationError

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
    return os.name == "posix" and _is_pipe(0) and _is_pipe(1) and _is_open(2)


@contextmanager
def standard_pipes() -> Iterator[tuple[MessageReader, MessageWriter] | None]:
    """Take standard input and output for the protocol, and give them back at the end.

    Meanwhile other readers find nothing, and what is printed goes to standard error. None where the loop cannot
    wait for them: files, terminals, and systems other than POSIX.
    """
    if not are_standard_pipes():
        yield None
        return
    sys.stdout.flush()
    with ExitStack() as stack:
        incoming = stack.enter_context(_taken(0, os.open(os.devnull, os.O_RDONLY)))
        outgoing = stack.enter_context(_taken(1, os.dup(2)))
        _widen(outgoing)
        _have_memory_kept()
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


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _widen(descriptor: int) -> None:
    """Let a pipe hold more, where the system can."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # a socket, or more than this user may have
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _have_memory_kept() -> None:
    """Have the allocator keep what a large answer takes, instead of giving it back page by page after each.

    glibc keeps blocks up to the size of the largest one of its own mapping that it was given back. The block is never touched,
    and so takes no memory. Getting the pages anew took half of the time of an answer of 1 MB.
    """
    bytes(KEPT_BYTES)
