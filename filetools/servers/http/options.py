"""Options of a server, and the host names and origins under which clients and pages may call it.

A hostile page can send requests to any address and can make its own name resolve to this machine; such requests carry the
hostile name as host or origin.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import shlex
import socket
from pathlib import PurePath
from typing import Final

from msgspec import Struct, field, structs
from pydantic_core import Url
from starlette.types import Scope

from filetools.errors import InvalidArgumentError
from filetools.servers.mcp.options import McpOptions
from filetools.sessions.agent_process import AgentLimits

MIB: Final = 1024 * 1024
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@*\\]+", re.IGNORECASE)


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Limits on the size and the slowness of requests."""

    body_bytes: int = 4 * MIB
    """Maximum size of a request body, except for PUT."""
    upload_bytes: int = 1024 * MIB
    """Maximum size of the body of a PUT."""
    held_bytes: int = 256 * MIB
    """Maximum total size of all bodies in memory, not counting those of PUT."""
    header_bytes: int = 64 * 1024
    """Maximum size of the request line and all headers together."""
    body_seconds: float = 30.0
    """Time for a body, in addition to the time that `bytes_per_second` allows."""
    bytes_per_second: int = 16 * 1024
    """Minimum rate; slower bodies are aborted after `body_seconds`."""
    send_seconds: float = 60.0
    """Maximum time that a client may leave a response unread."""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """The agent that a server runs on request."""

    command: str
    """Its program and arguments, split as by a shell."""
    max_steps: int = 200
    """Maximum number of turns with tool calls."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    """Limits on the time for one answer and on the size of what is kept of it."""

    def __post_init__(self) -> None:
        """Check the command.

        Raises:
            InvalidArgumentError: It names no program or has an unclosed quote.
        """
        try:
            self.model[0]
        except (ValueError, IndexError) as exc:
            raise InvalidArgumentError(f"{self.command!r} is not a command") from exc

    @property
    def model(self) -> str:
        """Model name shown to clients: the name of the program. Requests may name any other."""
        return PurePath(shlex.split(self.command)[0]).name


class HttpOptions(Struct, frozen=True, kw_only=True):
    """Options of one server."""

    host: str = "127.0.0.1"
    """Address or name to listen on."""
    port: int = 8765
    token: str = field(default_factory=secrets.token_urlsafe)
    """Secret that callers must present; by default a random one, so that only logins are admitted."""
    names: tuple[str, ...] = ()
    """Further host names that clients may use, with any port: names of this machine or of a proxy in front of it."""
    origins: tuple[str, ...] = ()
    """Further origins whose pages may call, such as `https://editor.example`; stored in the form that browsers send."""
    person: str = "person"
    """Actor name of the person who logs in."""
    mcp: McpOptions = field(default_factory=McpOptions)
    """Options of the MCP server at `/mcp`; over HTTP it sends no elicitations and treats no client as an editor."""
    agent: AgentOptions | None = None
    """The agent at `/v1/chat/completions`; None disables the route."""
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
    """Return an origin in the form that browsers send.

    Args:
        given: Scheme `http` or `https`, host and optionally a port.

    Raises:
        InvalidArgumentError: It is anything else, such as `*` or `null`, which match any page, or has a path.
    """
    try:
        if _ORIGIN.fullmatch(given):
            # The URL standard's parser normalises letter case, non-ASCII letters and the default port as browsers do.
            return str(Url(given)).removesuffix("/")
    except ValueError:
        pass
    raise InvalidArgumentError(
        f"{given!r} is not an origin",
        suggested_action="Write each origin as browsers do, with scheme, host and port only: 'https://editor.example' or"
        " 'http://localhost:3000'. No path, no wildcard, no 'null'.",
    )


_HERE: Final = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORT: Final = 80
_FAR: Final = {socket.AF_INET: "198.51.100.1", socket.AF_INET6: "2001:db8::1"}
"""Documentation addresses (RFC 5737, RFC 3849): the route to them is the route to other machines."""
_PORT: Final = re.compile(r":[0-9]{1,5}\Z")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


def reachable_hosts(listening: socket.socket, host: str) -> tuple[str, ...]:
    """Return the hosts of a socket's URLs: the first for this machine, the last for other machines.

    Args:
        listening: The socket.
        host: The configured host. Returned alone unless the socket listens on all addresses.
    """
    if not ipaddress.ip_address(listening.getsockname()[0]).is_unspecified:
        return (host,)
    here = "::1" if listening.family == socket.AF_INET6 else "127.0.0.1"
    with socket.socket(listening.family, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a UDP socket sends nothing; the system only selects the route and with it our address.
            probe.connect((_FAR[listening.family], 9))
        except OSError:  # no route to other machines
            return (here,)
        return (here, probe.getsockname()[0])


def is_host_name(name: str) -> bool:
    """Return True if `name` is a bare host name or address, without scheme, port or wildcard."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return _NAME.fullmatch(name) is not None
    return True


def shown_host(host: str) -> str:
    """Return an address or name in the form used in URLs."""
    return f"[{host}]" if ":" in host else host


class Hosts:
    """The server's own host names and origins.

    Args:
        options: Where the server listens, and its further names.
    """

    def __init__(self, options: HttpOptions) -> None:
        self._port = options.port
        self._named = frozenset(shown_host(name.lower()) for name in options.names)
        names = {*_HERE, shown_host(options.host.lower()), socket.gethostname().lower()}
        self._hosts = frozenset(form for name in names for form in self._forms(name))

    def is_own_host(self, host: str | None, scope: Scope) -> bool:
        """Return True if a request's host is one of the server's names or the address that the connection arrived at."""
        if host is None:
            return False
        # Names given by the operator match with any port, since they may be those of a proxy.
        # A literal address cannot be a hostile name.
        arrived_at = self._forms(shown_host(str(scope["server"][0]).lower())) if scope.get("server") else ()
        return host.lower() in self._hosts or self._is_named(host) or host.lower() in arrived_at

    def is_own_origin(self, origin: str, host: str | None, scope: Scope) -> bool:
        """Return True if the origin is this server, under the host name of the request."""
        if host is None or not self.is_own_host(host, scope):
            return False
        if origin.lower() == f"http://{host.lower()}":
            return True
        # A TLS proxy passes the name on with its port, or without the default port as browsers do.
        return self._is_named(host) and origin.lower() == f"https://{host.lower().removesuffix(':443')}"

    def _is_named(self, host: str) -> bool:
        return _PORT.sub("", host.lower()) in self._named

    def _forms(self, name: str) -> tuple[str, ...]:
        with_port = f"{name}:{self._port}"
        return (with_port, name) if self._port == _USUAL_PORT else (with_port,)
