"""What the command line decides about a server, and the names under which clients and pages may call it then.

A page of a stranger can send requests to any address, and can have its own name lead to this machine: such requests carry
the stranger's name as host or origin.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
import socket
from pathlib import PurePath
from typing import Final

from msgspec import Struct, field, structs
from pydantic_core import Url
from starlette.types import Scope

from filetools.errors import InvalidArgumentError
from filetools.servers.mcp.options import DoorOptions
from filetools.sessions.agent_process import AgentLimits

MIB: Final = 1024 * 1024
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@*\\]+", re.IGNORECASE)


class HttpLimits(Struct, frozen=True, kw_only=True):
    """How much a client may send, and how slowly."""

    body_bytes: int = 4 * MIB
    """Of every body but that of a PUT."""
    upload_bytes: int = 1024 * MIB
    """Of the body of a PUT."""
    held_bytes: int = 256 * MIB
    """Of all bodies together that are in memory, those of PUT aside."""
    header_bytes: int = 64 * 1024
    """Of the first line and all headers together."""
    body_seconds: float = 30.0
    """For a body, beside what `bytes_per_second` allows it."""
    bytes_per_second: int = 16 * 1024
    """Slower bodies than this are given up after `body_seconds`."""
    send_seconds: float = 60.0
    """How long a client may leave unread what it was sent."""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """The agent that a server runs for who asks for it."""

    command: str
    """Its program and arguments, split as by a shell."""
    max_steps: int = 200
    """How many turns with calls of tools it may take."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    """How long it may take for one answer, and how much of it is kept."""

    def __post_init__(self) -> None:
        """Check the command.

        Raises:
            InvalidArgumentError: It has no words, or a quotation without an end.
        """
        try:
            shlex.split(self.command)[0]
        except (ValueError, IndexError) as exc:
            raise InvalidArgumentError(f"{self.command!r} is not a command") from exc

    @property
    def model(self) -> str:
        """Name under which clients find it: that of its program. They may ask for any other, too."""
        return PurePath(shlex.split(self.command)[0]).name


class HttpOptions(Struct, frozen=True, kw_only=True):
    """How one server is built."""

    host: str = "127.0.0.1"
    """Address or name that it listens at."""
    port: int = 8765
    token: str | None = None
    """What callers must know; None asks nobody but for the agent, which only people run then."""
    names: tuple[str, ...] = ()
    """Further names under which clients may call, at any port: those of this machine, or of a proxy before it."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may call, too, such as `https://editor.example`; kept as browsers send them."""
    person: str = "person"
    """Name of whoever logs in."""
    door: DoorOptions = field(default_factory=DoorOptions)
    """What agents are offered over MCP; over HTTP nobody is asked there, and no client is an editor."""
    agent: AgentOptions | None = None
    """What runs at `/v1/chat/completions`; None: there is nothing of that name."""
    limits: HttpLimits = field(default_factory=HttpLimits)

    def __post_init__(self) -> None:
        """Check names and origins.

        Raises:
            InvalidArgumentError: One of them is not a host name, or not an origin.
        """
        for name in self.names:
            if not is_host_name(name):
                raise InvalidArgumentError(f"{name!r} is not a host name; leave out scheme and port")
        structs.force_setattr(self, "origins", tuple(map(origin_of, self.origins)))


def origin_of(given: str) -> str:
    """Return an origin as browsers send it.

    Args:
        given: Scheme `http` or `https`, host and perhaps port.

    Raises:
        InvalidArgumentError: It is anything else, such as `*` or `null`, which stand for anybody, or has a path.
    """
    try:
        if _ORIGIN.fullmatch(given):
            # The parser of the URL standard: letter case, letters beyond ASCII and the usual port as browsers have them.
            return str(Url(given)).removesuffix("/")
    except ValueError:
        pass
    raise InvalidArgumentError(
        f"{given!r} is not one origin",
        suggested_action="Name each as browsers do, by scheme, host and port alone: 'https://editor.example' or"
        " 'http://localhost:3000'. No path, no wildcard, no 'null'.",
    )


_HERE: Final = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORT: Final = 80
_FAR: Final = {socket.AF_INET: "198.51.100.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses that are nobody's (RFC 5737, RFC 3849): what leads to them leads to other machines."""
_PORT: Final = re.compile(r":[0-9]{1,5}\Z")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at an address or name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def reachable_hosts(listening: socket.socket, host: str) -> tuple[str, ...]:
    """Return by what a socket is called: on this machine by the first, on others by the last.

    Args:
        listening: The socket.
        host: What it was told to listen at; only where that stands for every address of this machine are there others.
    """
    if not ipaddress.ip_address(listening.getsockname()[0]).is_unspecified:
        return (host,)
    here = "::1" if listening.family == socket.AF_INET6 else "127.0.0.1"
    with socket.socket(listening.family, socket.SOCK_DGRAM) as asking:
        try:
            # Sends nothing: the system only chooses the way, and with it the address that others answer to.
            asking.connect((_FAR[listening.family], 9))
        except OSError:  # there is no way to anybody
            return (here,)
        return (here, asking.getsockname()[0])


def is_host_name(name: str) -> bool:
    """Whether something is the name or address of a machine alone, without scheme, port or wildcard."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return _NAME.fullmatch(name) is not None
    return True


def shown_host(host: str) -> str:
    """Return an address or name as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


class Hosts:
    """Knows the server's own names; lives as long as the server.

    Args:
        options: Where it listens.
    """

    def __init__(self, options: HttpOptions) -> None:
        self._port = options.port
        self._named = frozenset(shown_host(name.lower()) for name in options.names)
        names = {*_HERE, shown_host(options.host.lower())}
        if not is_loopback(options.host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._hosts = frozenset(form for name in names for form in self._forms(name))

    def is_own_host(self, host: str | None, scope: Scope) -> bool:
        """Whether a request is addressed to this server, by one of its names or by the very address it came in at."""
        if host is None:
            return False
        # Names that the operator gave are those of a proxy, too, whose port is its own.
        return host.lower() in self._hosts or self._is_named(host) or host.lower() in self._arrived_at(scope)

    def is_own_origin(self, origin: str, host: str | None, scope: Scope) -> bool:
        """Whether a page is this server's own, fetched under the name that the request is addressed to."""
        if host is None or not self.is_own_host(host, scope):
            return False
        if origin.lower() == f"http://{host.lower()}":
            return True
        # A proxy that has TLS sends the name on with its port, or leaves the usual one out as browsers do.
        return self._is_named(host) and origin.lower() == f"https://{host.lower().removesuffix(':443')}"

    def _is_named(self, host: str) -> bool:
        return _PORT.sub("", host.lower()) in self._named

    def _arrived_at(self, scope: Scope) -> frozenset[str]:
        """Forms of the address that the connection leads to: a literal address is nobody else's name."""
        server = scope.get("server")
        return frozenset(self._forms(shown_host(str(server[0]).lower()))) if server else frozenset()

    def _forms(self, name: str) -> tuple[str, ...]:
        with_port = f"{name}:{self._port}"
        return (with_port, name) if self._port == _USUAL_PORT else (with_port,)
