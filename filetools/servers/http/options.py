"""What whoever starts the server decides about it; no client can."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from filetools.dataclass import dataclass
from filetools.servers.http.cross_origin import origin_of

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a client may send, and how slowly."""

    body_bytes: int = 4 * MIB
    """Of every body but that of a PUT."""
    upload_bytes: int = 1024 * MIB
    """Of the body of a PUT."""
    held_bytes: int = 256 * MIB
    """Of all bodies together that are in memory, those of PUT aside."""
    depth: int = 100
    """Of JSON."""
    header_bytes: int = 64 * 1024
    """Of the first line and all headers together."""
    header_seconds: float = 10.0
    """From the first byte of a request to the end of its headers."""
    body_seconds: float = 30.0
    """For a body, beside what `bytes_per_second` allows it."""
    bytes_per_second: int = 16 * 1024
    """Slower bodies than this are given up after `body_seconds`."""
    send_seconds: float = 60.0
    """How long a client may leave unread what it was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How one server is built."""

    host: str = "127.0.0.1"
    """Address or name that it listens at."""
    port: int = 8765
    token: str | None = None
    """What callers must know; None asks nobody, and is for addresses of this machine only."""
    names: tuple[str, ...] = ()
    """Further names under which clients may call, at any port: those of this machine, or of a proxy before it."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may call, too, such as `https://editor.example`; kept as browsers send them."""
    person: str = "person"
    """Name of whoever logs in."""
    tools: tuple[str, ...] | None = None
    """Names of groups and of single tools that agents are offered over MCP; None is the usual choice."""
    page: str = "/"
    """Path of the page that a browser is led to once it is logged in."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Check the origins.

        Raises:
            InvalidArgumentError: One of them is none.
        """
        object.__setattr__(self, "origins", tuple(map(origin_of, self.origins)))
