"""The editor page on the stage: a server in a process of its own, and a browser's window in which the scenes are seen."""

from __future__ import annotations

import asyncio
import http.client
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Final

from filetools.cli.demo.stage import Stage
from filetools.errors import NetworkError

PACE_SECONDS: Final = 0.8
LOGIN_SECONDS: Final = 60.0
"""As long as the code of the login counts."""
_CONNECTED: Final = "\nfiletools_live_connections "


@asynccontextmanager
async def page_of(stage: Stage) -> AsyncIterator[None]:
    """Serve the stage, open a browser there, and begin at a pace to be followed once its window is connected.

    Raises:
        NetworkError: The server does not start, or no window is connected within a minute.
    """
    command = ("serve", str(stage.root), "--port", "0", "--open", "--permissions", "allow")
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "filetools", *command,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    stage.children.append(server)
    assert server.stdout is not None
    try:
        address, login = [(await server.stdout.readline()).decode().strip() for _ in range(2)]
        if not login:
            raise NetworkError("The server of the page does not start", suggested_action="See why: filetools serve .")
        stage.narrator.note("your browser opens the editor page; from elsewhere, once and within a minute:")
        stage.narrator.show(login.rpartition(" ")[2])
        sys.stdout.flush()

        async def is_connected() -> bool:
            return await asyncio.to_thread(_windows, address.rpartition("//")[2]) > 0

        if not await stage.until(is_connected, LOGIN_SECONDS):
            raise NetworkError("No window was connected within a minute", suggested_action="Open the address.")
        stage.narrator.note("open README.md or src/tally/counter.py in it; the play begins")
        stage.pace_seconds = PACE_SECONDS
        yield
    finally:
        if server.returncode is None:
            server.terminate()
            await server.wait()


def _windows(host: str) -> int:
    with closing(http.client.HTTPConnection(host)) as connection:
        connection.request("GET", "/metrics")
        return int(connection.getresponse().read().decode().partition(_CONNECTED)[2].partition("\n")[0])
