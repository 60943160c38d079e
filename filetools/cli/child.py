"""Runs another program in the foreground, as a shell does: its streams are ours, its end is ours."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from filetools.cli.terminal import print_refusal

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_SIGNALLED: Final = 128
_FORWARDED: Final = ("SIGTERM", "SIGHUP")
_SHARED: Final = ("SIGINT", "SIGQUIT")
"""What a terminal sends to the program itself as well; sent on, it would get them twice."""


async def run_child(command: Sequence[str], *, environment: Mapping[str, str]) -> int:
    """Run a program to its end and return its exit code, or 128 and the number of the signal that ended it.

    It runs beside the loop of the main thread; being cancelled ends the program.

    Args:
        command: The program, looked for as a shell does, and its arguments.
        environment: All its variables.

    Raises:
        FileNotFoundError: There is no such program.
        OSError: It cannot be executed.
    """
    with _in_foreground(command, environment) as child:
        waiting = asyncio.create_task(asyncio.to_thread(child.wait))
        try:
            code = await asyncio.shield(waiting)
            return code if code >= 0 else _SIGNALLED - code
        finally:
            child.terminate()  # nothing, if it has ended
            await waiting


def refuse_child(command: Sequence[str], error: OSError) -> int:
    """Say why a program could not be started, and return the exit code that shells have for it."""
    is_missing = isinstance(error, FileNotFoundError)
    print_refusal(f"{command[0]}: {'command not found' if is_missing else error.strerror}", None)
    return NOT_FOUND if is_missing else NOT_EXECUTABLE


@contextmanager
def _in_foreground(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program, and have signals end the child and not this process, which has something to do afterwards."""
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if child:
            child[0].send_signal(number)
        else:
            early.append(number)

    # Functions and not SIG_IGN, which the child would inherit.
    wanted = dict.fromkeys(_FORWARDED, forward) | {name: lambda *_: None for name in _SHARED}
    present = {getattr(signal, name): handler for name, handler in wanted.items() if hasattr(signal, name)}
    former = {number: signal.signal(number, handler) for number, handler in present.items()}
    try:
        process = subprocess.Popen(command, env=environment)
        child.append(process)
        for number in early:
            process.send_signal(number)
        yield process
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
