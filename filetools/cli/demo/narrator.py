"""Tells the audience what happens, as it happens: headings, and the feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from rich.rule import Rule
from rich.text import Text

from filetools.app import FileToolsFacade
from filetools.cli.records import change_line
from filetools.cli.terminal import STDOUT, print_beside

CATCH_UP_SECONDS: Final = 0.3
POLL_SECONDS: Final = 0.005
INDENT: Final = 8
"""Where the actors of the feed stand."""


class Narrator:
    """Prints to standard output; lives as long as a demo."""

    def __init__(self) -> None:
        self._files: FileToolsFacade | None = None
        self._shown = 0

    def heading(self, title: str) -> None:
        """Announce a scene."""
        STDOUT.print()
        STDOUT.print(Rule(Text(title, style="bold"), align="left", style="dim"), soft_wrap=False)

    async def say(self, text: str) -> None:
        """Tell something that is not in the feed, after what is."""
        await self._catch_up()
        print_beside(Text(), text, start=INDENT, style="italic")

    @asynccontextmanager
    async def following(self, files: FileToolsFacade) -> AsyncIterator[None]:
        """Print the feed meanwhile, to its end."""
        self._files = files
        task = asyncio.create_task(self._follow(files), name="demo feed")
        try:
            yield
            await self._catch_up()
        finally:
            self._files = None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self, files: FileToolsFacade) -> None:
        since = (await files.changes()).position
        async for record in files.follow(since):
            STDOUT.print(change_line(record, with_time=False))
            self._shown = record.number

    async def _catch_up(self) -> None:
        """Wait until the newest change is printed; not long, since one that is not settled yet is not in the feed."""
        if self._files is None:
            return
        newest = await self._files.latest_changes(1)
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while newest and self._shown < newest[0].number:  # noqa: ASYNC110 - the feed is waited for
                    await asyncio.sleep(POLL_SECONDS)
