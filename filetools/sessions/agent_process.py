"""The child process of an agent: receives a prompt, returns lines, and leaves no processes behind."""

from __future__ import annotations

import asyncio
import os
import select
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct

from filetools.errors import AgentFailedError
from filetools.settings import MIB

_PIECE_BYTES: Final = 64 * 1024
_ERROR_BYTES: Final = 64 * 1024
_LOOK_SECONDS: Final = 0.01
"""Interval for checking if the pipes of an ended process are closed; almost always they are at the first check."""


class AgentLimits(Struct, frozen=True, kw_only=True):
    """Limits on the time and the output of a process."""

    seconds: float = 1200.0
    """Maximum running time; then the process is stopped."""
    stop_seconds: float = 5.0
    """Time from SIGTERM to SIGKILL, and from the end of the process to the end of its pipes."""
    line_bytes: int = 16 * MIB
    """Maximum length of a line; longer lines are skipped."""


class AgentResult(Struct, frozen=True, kw_only=True):
    """Result of a process."""

    exit_code: int
    """Negative: the signal that killed it."""
    timed_out: bool = False
    left_behind: bool = False
    """True if a child that had left the process group still held a pipe open; it is not killed."""
    errors: str = ""
    """The last 64 KiB of its standard error."""
    skipped: int = 0
    """Number of lines that were too long."""


class AgentProcess:
    """A running agent; one task reads its lines with `async for`, then awaits `result`, once.

    At its end the rest of its group and the pipes end, too, even if nobody awaits that.
    """

    def __init__(self, process: subprocess.Popen[bytes], prompt: bytes, limits: AgentLimits) -> None:
        self._process, self._limits, self._loop = process, limits, asyncio.get_running_loop()
        self._output, self._complaints = asyncio.StreamReader(_PIECE_BYTES), asyncio.StreamReader(_PIECE_BYTES)
        self._errors, self._held, self._lines = b"", bytearray(), deque[bytes]()
        self._skipped, self._is_skipping, self._timed_out, self._left_behind = 0, False, False, True
        self._woken, self._ended = asyncio.Event(), asyncio.Event()
        self._pipes: list[asyncio.BaseTransport] = []
        self._life = asyncio.create_task(self._live(prompt), name="filetools agent")
        self._life.add_done_callback(self._close)
        self._hearing = asyncio.create_task(self._hear(), name="filetools agent")
        threading.Thread(target=self._await_end, name="filetools agent", daemon=True).start()

    @classmethod
    def start(
        cls,
        command: str | Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        environment: Mapping[str, str],
        prompt: bytes = b"",
        limits: AgentLimits | None = None,
    ) -> AgentProcess:
        """Start a program in its own process group, without a shell.

        Args:
            command: A list of words, or a line that is split the way a shell does.
            cwd: Its working folder.
            environment: All its variables; it inherits no others, and only the standard streams as descriptors.
            prompt: Written to its standard input, which is then closed; it need not read it.
            limits: Limits on time and size.

        Raises:
            AgentFailedError: The program does not exist or cannot be executed, or the system is not POSIX.
        """
        if os.name != "posix":
            raise AgentFailedError(str(command), "agents are run on POSIX systems only")
        program = str(command)
        try:
            words = shlex.split(command) if isinstance(command, str) else list(command)
            program = words[0]
            process = subprocess.Popen(
                words, cwd=cwd, env=environment, bufsize=0, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except IndexError:
            raise AgentFailedError(program, "the command is empty") from None
        except (OSError, ValueError) as exc:  # ValueError: an unclosed quote, or NUL
            raise AgentFailedError(program, getattr(exc, "strerror", None) or str(exc)) from exc
        return cls(process, prompt, limits or AgentLimits())

    def __aiter__(self) -> AgentProcess:
        return self

    async def __anext__(self) -> bytes:
        """Return the next line of standard output, without its line end."""
        while True:
            await asyncio.sleep(0)  # yield: an agent that writes faster than it is read would block the loop
            if self._lines:
                return self._lines.popleft()
            piece = await self._output.read(_PIECE_BYTES)
            if not (piece or self._held):
                raise StopAsyncIteration
            self._split(piece or b"\n")  # the last line is unterminated

    async def result(self) -> AgentResult:
        """Wait for the end of the process and of its pipes, discarding unread lines."""
        async for _ in self:
            pass
        await self._life
        await self._hearing
        return AgentResult(
            exit_code=self._process.returncode, timed_out=self._timed_out, left_behind=self._left_behind,
            errors=self._errors.decode(errors="replace"), skipped=self._skipped,
        )  # fmt: skip

    async def stop(self) -> None:
        """End the process and wait for it: SIGTERM to its group, then SIGKILL if it does not end."""
        self._woken.set()
        await asyncio.shield(self._life)

    async def _live(self, prompt: bytes) -> None:
        seconds, loop, process = self._limits.stop_seconds, self._loop, self._process
        stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._pipes.append(stdin)
        for reader, pipe in ((self._output, process.stdout), (self._complaints, process.stderr)):
            self._pipes.append((await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe))[0])
        stdin.write(prompt)
        stdin.write_eof()
        self._timed_out = not await _is_set_within(self._limits.seconds, self._woken)
        if not self._ended.is_set():
            self._signal(signal.SIGTERM)
            if not await _is_set_within(seconds, self._ended):
                self._signal(signal.SIGKILL)
            await self._ended.wait()
        await self._released_within(seconds * 0.8)
        # Kill the rest of the group, with or without a pipe; the remaining time is for their pipes to close.
        self._signal(signal.SIGKILL)
        await self._released_within(seconds * 0.2)
        self._left_behind = self._is_held()

    def _close(self, _life: object = None) -> None:
        """Kill and close what is left. Not in a `finally`: a loop that ends at once cancels a task before its first step."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        for opened in self._pipes:
            if isinstance(opened, asyncio.WriteTransport) and opened.get_write_buffer_size():
                opened.abort()  # otherwise it is closed, or about to be
            elif self._left_behind:
                opened.close()
        if self._left_behind:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)[len(self._pipes) :]:
                assert pipe is not None
                pipe.close()
            self._output.feed_eof()
            self._complaints.feed_eof()

    async def _hear(self) -> None:
        while piece := await self._complaints.read(_PIECE_BYTES):
            self._errors = (self._errors + piece)[-_ERROR_BYTES:]

    async def _released_within(self, seconds: float) -> None:
        for _ in range(round(seconds / _LOOK_SECONDS)):
            if not self._is_held():
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _is_held(self) -> bool:
        """Return True if any process can still write to a pipe; unlike an end of file, this needs no reading."""
        both = (self._process.stdout, self._process.stderr)
        poll, pipes = select.poll(), [pipe for pipe in both if pipe is not None and not pipe.closed]
        for pipe in pipes:
            poll.register(pipe, 0)
        return len(poll.poll(0)) < len(pipes)

    def _await_end(self) -> None:
        with suppress(ChildProcessError):
            if hasattr(os, "waitid"):
                # Without reaping it: until then, its number, which is also that of its group, is not reused.
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._process.wait()
        with suppress(RuntimeError):  # the loop is closed
            for event in (self._ended, self._woken):
                self._loop.call_soon_threadsafe(event.set)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:  # otherwise its number may have been reused
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _split(self, piece: bytes) -> None:
        parts = piece.split(b"\n")
        for number, part in enumerate(parts, 1):
            if not self._is_skipping:
                self._held += part
            if len(self._held) > self._limits.line_bytes:
                self._skipped, self._is_skipping = self._skipped + 1, True
                self._held.clear()
            if number < len(parts):  # a line ends here
                if not self._is_skipping:
                    self._lines.append(bytes(self._held))
                self._held.clear()
                self._is_skipping = False


async def _is_set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
