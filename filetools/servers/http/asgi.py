"""The types of ASGI, which servers and applications in Python speak with each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_values(scope: Scope, name: bytes) -> list[str]:
    """Return all values of a header of a request, in order."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key == name]


def only_header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header that may stand once; None if it does not stand there, or more than once."""
    values = header_values(scope, name)
    return values[0].strip() if len(values) == 1 else None
