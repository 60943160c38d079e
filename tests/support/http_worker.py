"""A process that serves a root over HTTP with other limits than the usual ones: `ROOT LIMITS`, the second as JSON.

Its clients need not send the token.
"""

from __future__ import annotations

import asyncio
import json
import sys

import filetools
from filetools.servers.http.application import ServerApplication
from filetools.servers.http.options import HttpLimits, HttpOptions
from filetools.servers.http.serving import listen, serve
from tests.support import inside


async def main() -> None:
    listener = listen(HttpOptions(port=0, limits=HttpLimits(**json.loads(sys.argv[2]))))

    def ready(application: ServerApplication) -> None:
        inside.send_the_token(application)
        print(f"Serving {sys.argv[1]} at {listener.addresses[0]}", flush=True)  # noqa: T201 - what the test waits for

    async with filetools.open(sys.argv[1], settings={"durability": "relaxed"}) as files:
        await serve(files, listener, ready)


if __name__ == "__main__":
    asyncio.run(main())
