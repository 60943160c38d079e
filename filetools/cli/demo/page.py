"""The editor page of the demo: a server in a separate process, and a browser window that shows the play."""

from __future__ import annotations

import asyncio
import http.client
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Final

from filetools.app.state import own_directory, own_token
from filetools.errors import NetworkError

if TYPE_CHECKING:
    from filetools.cli.demo.play import Play

PACE_SECONDS: Final = 0.8
LOGIN_SECONDS: Final = 60.0
"""Lifetime of the login code."""
_CONNECTED: Final = "\nfiletools_live_connections "


@asynccontextmanager
async def page_of(play: Play) -> AsyncIterator[None]:
    """Serve the project, open a browser, and slow the play down once its window is connected.

    Raises:
        NetworkError: The server does not start, or no window connects within a minute.
    """
    command = ("serve", str(play.root), "--port", "0", "--open", "--permissions", "allow")
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "filetools", *command, start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        address, _, login = [(await server.stdout.readline()).decode().strip() for _ in range(3)]
        if not login:
            raise NetworkError("The server of the page does not start", suggested_action="See why: filetools serve .")
        await play.say(
            "Your browser opens the editor page; elsewhere, once and within a minute:", login.rpartition(" ")[2]
        )
        sys.stdout.flush()
        host, secrets = address.rpartition("//")[2], own_directory(play.root, None)
        assert secrets is not None
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                while not await asyncio.to_thread(_windows, host, own_token(secrets)):  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.1)
        except TimeoutError as exc:
            raise NetworkError("No window was connected within a minute", suggested_action="Open the address.") from exc
        await play.say("Open README.md or src/tally.py in it; the play begins.")
        play.follow_at(PACE_SECONDS)
        yield
    finally:
        if server.returncode is None:
            server.terminate()
            await server.wait()


def _windows(host: str, token: str) -> int:
    with closing(http.client.HTTPConnection(host)) as connection:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        return int(connection.getresponse().read().decode().partition(_CONNECTED)[2].partition("\n")[0])
