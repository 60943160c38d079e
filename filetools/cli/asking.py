"""Asking the person at the terminal whether a call may go on."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TextIO

from rich import text as rich_text

from filetools.cli.terminal import STDERR, printable
from filetools.permissions.requests import ApprovalAnswer, ApprovalRequest


def open_terminal() -> TextIO | None:
    """Return the terminal a person answers at, or None if nobody sits there.

    Standard input may carry the content of a file; then the controlling terminal is asked, as ssh and sudo do.
    """
    if not sys.stderr.isatty():
        return None
    if sys.stdin is not None and sys.stdin.isatty():
        return sys.stdin
    try:
        return open("/dev/tty", encoding="utf-8", errors="replace")
    except OSError:
        return None


class Asker:
    """Asks about one request after the other at a terminal; lives as long as its command."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._turn = asyncio.Lock()

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Show what would happen and return the person's answer; anything but yes is no."""
        async with self._turn:
            STDERR.print(_question(request), end="")
            answer = await self._line()
            return "allow" if answer.strip().lower() in ("y", "yes") else "deny"

    async def _line(self) -> str:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            text = self._terminal.readline()
            loop.call_soon_threadsafe(lambda: None if line.done() else line.set_result(text))

        # A daemon: a thread that waits for a key cannot be stopped, and must not keep an interrupted command alive.
        threading.Thread(target=read, name="filetools terminal", daemon=True).start()
        return await line


def _question(request: ApprovalRequest) -> rich_text.Text:
    why = "changing it can make other programs run code" if request.reason == "protected" else "the permissions ask"
    return rich_text.Text.assemble(
        (f"{printable(request.actor.id)} wants this, risk {request.risk}: {why}\n", "dim"),
        (f"{printable(request.description)}?", "bold yellow"),
        " y/N ",
    )
