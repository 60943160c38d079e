"""The names under which clients may call this server, and the origins of pages that it has sent itself.

A page of a stranger can send requests to any address, and can have its own name lead to this machine: such requests carry
the stranger's name as host or origin.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final

from starlette.types import Scope

from filetools.servers.http.options import HttpOptions

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
