"""Runs another program in the foreground, as a shell does: its streams are ours, its end is ours."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_SIGNALLED: Final = 128
_FORWARDED: Final = ("SIGTERM", "SIGHUP")
_SHARED: Final = ("SIGINT", "SIGQUIT")
"""What a terminal sends to the program itself as well; sent on, it would get them twice."""


def run_child(command: Sequence[str]) -> int:
    """Run a program to its end and return its exit code, or 128 and the number of the signal that ended it.

    Args:
        command: The program, looked for as a shell does, and its arguments.

    Raises:
        FileNotFoundError: There is no such program.
        OSError: It cannot be executed.
    """
    with _signals_left_to_it() as started:
        child = subprocess.Popen(command)
        started(child)
        code = child.wait()
    return code if code >= 0 else _SIGNALLED - code


@contextmanager
def _signals_left_to_it() -> Iterator[Any]:
    """Have signals end the child and not this process, which has something to do afterwards."""
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if child:
            child[0].send_signal(number)
        else:
            early.append(number)

    def started(process: subprocess.Popen[bytes]) -> None:
        child.append(process)
        for number in early:
            process.send_signal(number)

    # Functions and not SIG_IGN, which the child would inherit.
    wanted = dict.fromkeys(_FORWARDED, forward) | {name: lambda *_: None for name in _SHARED}
    present = {getattr(signal, name): handler for name, handler in wanted.items() if hasattr(signal, name)}
    former = {number: signal.signal(number, handler) for number, handler in present.items()}
    try:
        yield started
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
