"""Clients that send the token of the test's own server, as programs of its user do; strangers use `httpx2` alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

TOKEN: Final = "a-token-of-the-tests"
"""Of servers in the process of the test."""
HEADERS: Final = {"Authorization": f"Bearer {TOKEN}"}
TOKENS: Final[dict[int | None, str]] = {}
"""Of the servers that tests of this process have started, by their ports."""


def headers(address: str) -> dict[str, str]:
    """Return what names the token of the server at an address, if it has one of its own."""
    token = TOKENS.get(urlsplit(address).port)
    return {} if token is None else {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def mcp(address: str) -> AsyncIterator[Any]:
    """Lead a client of MCP to the server at an address."""
    async with AsyncClient() as http, streamable_http_client(f"{address}/mcp", http_client=http) as streams:
        yield streams


class Bearer(httpx2.Auth):
    """Adds the token to requests that name none."""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        if "Authorization" not in request.headers:
            request.headers.update(headers(str(request.url)))
        yield request


AUTH: Final = Bearer()
_SECONDS: Final = 60.0
request: Final = partial(httpx2.request, auth=AUTH, timeout=_SECONDS)
stream: Final = partial(httpx2.stream, auth=AUTH, timeout=_SECONDS)
get: Final = partial(httpx2.get, auth=AUTH, timeout=_SECONDS)
head: Final = partial(httpx2.head, auth=AUTH, timeout=_SECONDS)
options: Final = partial(httpx2.options, auth=AUTH, timeout=_SECONDS)
put: Final = partial(httpx2.put, auth=AUTH, timeout=_SECONDS)
patch: Final = partial(httpx2.patch, auth=AUTH, timeout=_SECONDS)
post: Final = partial(httpx2.post, auth=AUTH, timeout=_SECONDS)
delete: Final = partial(httpx2.delete, auth=AUTH, timeout=_SECONDS)
Client: Final = partial(httpx2.Client, auth=AUTH, timeout=_SECONDS)
AsyncClient: Final = partial(httpx2.AsyncClient, auth=AUTH, timeout=_SECONDS)
