"""Clients that send the token of the test's own server, as programs of its user do; strangers use `httpx2` alone."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client

TOKENS: Final[dict[int | None, str]] = {}
"""Of the servers that tests of this process have started, by their ports."""


def headers(address: str) -> dict[str, str]:
    """Return what names the token of the server at an address, if it has one of its own."""
    token = TOKENS.get(urlsplit(address).port)
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def mcp(address: str) -> Any:
    """Return the way of a client of MCP to the server at an address."""
    return streamable_http_client(f"{address}/mcp", http_client=AsyncClient(timeout=60.0))


class Bearer(httpx2.Auth):
    """Adds the token to requests that name none."""

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        if "Authorization" not in request.headers:
            request.headers.update(headers(str(request.url)))
        yield request


AUTH: Final = Bearer()
request: Final = partial(httpx2.request, auth=AUTH)
stream: Final = partial(httpx2.stream, auth=AUTH)
get: Final = partial(httpx2.get, auth=AUTH)
head: Final = partial(httpx2.head, auth=AUTH)
options: Final = partial(httpx2.options, auth=AUTH)
put: Final = partial(httpx2.put, auth=AUTH)
patch: Final = partial(httpx2.patch, auth=AUTH)
post: Final = partial(httpx2.post, auth=AUTH)
delete: Final = partial(httpx2.delete, auth=AUTH)
Client: Final = partial(httpx2.Client, auth=AUTH)
AsyncClient: Final = partial(httpx2.AsyncClient, auth=AUTH)
