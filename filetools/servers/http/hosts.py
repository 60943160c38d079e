"""The names under which clients may call this server, and the origins of pages that it has sent itself.

A page of a stranger can send requests to any address, and can have its own name lead to this machine: such requests carry
the stranger's name as host or origin.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from filetools.servers.http.asgi import Scope
from filetools.servers.http.options import HttpOptions

_HERE: Final = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORT: Final = 80


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at an address or name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


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
        names = {*_HERE, shown_host(options.host.lower()), *(shown_host(name.lower()) for name in options.names)}
        if not is_loopback(options.host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._hosts = frozenset(form for name in names for form in self._forms(name))

    def is_own_host(self, host: str | None, scope: Scope) -> bool:
        """Whether a request is addressed to this server, by one of its names or by the very address it came in at."""
        if host is None:
            return False
        return host.lower() in self._hosts or host.lower() in self._arrived_at(scope)

    def is_own_origin(self, origin: str, host: str | None, scope: Scope) -> bool:
        """Whether a page is this server's own, fetched under the name that the request is addressed to."""
        return host is not None and self.is_own_host(host, scope) and origin.lower() == f"http://{host.lower()}"

    def _arrived_at(self, scope: Scope) -> frozenset[str]:
        """Forms of the address that the connection leads to: a literal address is nobody else's name."""
        server = scope.get("server")
        return frozenset(self._forms(shown_host(str(server[0]).lower()))) if server else frozenset()

    def _forms(self, name: str) -> tuple[str, ...]:
        with_port = f"{name}:{self._port}"
        return (with_port, name) if self._port == _USUAL_PORT else (with_port,)
