"""Listens on an address and serves one workspace until the process is signalled to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import uvicorn
from msgspec import Struct, structs

from filetools.app.registration import Registration
from filetools.errors import AccessDeniedError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.application import ServerApplication, http_application
from filetools.servers.http.options import HttpOptions, reachable_hosts, shown_host

GRACE_SECONDS: Final = 1
"""Time for pending responses when the server stops; then they are cancelled."""
_CANCEL_SECONDS: Final = 0.5
_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
"""SIGHUP is sent when the terminal that started the server is closed; Windows does not have it."""
_UNSENT_BYTES: Final = 128 * 1024
_BACKLOG: Final = 512


class Listener(Struct, frozen=True):
    """A listening socket."""

    socket: socket.socket
    options: HttpOptions
    """With the actual port of the socket."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The server's URLs: the first for clients on this machine, the last for other machines; one if they are equal."""
        hosts = reachable_hosts(self.socket, self.options.host)
        return tuple(f"http://{shown_host(host)}:{self.options.port}" for host in hosts)

    def guarded_by(self, token: str) -> Listener:
        """Return a copy that requires a token."""
        return structs.replace(self, options=structs.replace(self.options, token=token))


def listen(options: HttpOptions) -> Listener:
    """Listen on the address of the options; port 0 selects any free port.

    Raises:
        InvalidArgumentError: The port is in use, or this machine does not have the address; the message names both.
        AccessDeniedError: The system does not permit the port.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError as exc:
        raise _explained(exc, options) from exc
    # asyncio sets TCP_NODELAY only if the socket's protocol is TCP; otherwise the second part of a response waits 40 ms.
    listening = socket.socket(listening.family, listening.type, socket.IPPROTO_TCP, listening.detach())
    _bound(listening, options.limits.send_seconds)
    return Listener(listening, structs.replace(options, port=listening.getsockname()[1]))


async def serve(files: FileToolsFacade, listener: Listener, ready: Callable[[ServerApplication], None]) -> None:
    """Serve a workspace until SIGTERM, SIGINT or SIGHUP; then end within two seconds, not counting running agents.

    Args:
        files: The open workspace.
        listener: The listening socket.
        ready: Called when clients may send requests, and signals stop the server.

    Raises:
        InvalidArgumentError: The options name an unknown tool or group.
    """
    async with (
        Registration(lambda: [files], "filetools serve") as registration,
        http_application(files, listener.options, registration=registration) as application,
    ):
        limits = listener.options.limits
        config = uvicorn.Config(
            application,
            http="h11",
            ws="websockets-sansio",
            # Beyond this, uvicorn aborts the connection; smaller frames over our limit get a close reason.
            ws_max_size=4 * limits.body_bytes,
            ws_per_message_deflate=False,  # costs memory per connection, and frames are small
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            # The guard answers headers over its limit with a problem; this limit stops headers that never end.
            h11_max_incomplete_event_size=4 * limits.header_bytes,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_useful)
        await _Server(config, application.shared.closing, partial(ready, application)).serve(sockets=[listener.socket])


class _Server(uvicorn.Server):
    """Uvicorn's server, which signals long responses to end when it stops, and leaves the process running."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report that clients may send requests and signals stop the server."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM, SIGINT or SIGHUP. Uvicorn would raise them again at its end, before the workspace is closed."""
        loop = asyncio.get_running_loop()
        former = {each: signal.getsignal(each) for each in _SIGNALS}
        awaited = [each for each in _SIGNALS if former[each] is not signal.SIG_IGN]  # nohup ignores SIGHUP
        try:
            for each in awaited:
                signal.signal(each, lambda *_: loop.call_soon_threadsafe(self.stop))
            yield
        finally:
            for each in awaited:
                signal.signal(each, former[each])

    def stop(self) -> None:
        """Accept no new requests, and end."""
        self._closing.set()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the pending responses, and wait until cancelled ones have ended, too."""
        # Uvicorn logs cancelled responses as an error, but streams are meant to last until the end.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(list(self.server_state.tasks), timeout=_CANCEL_SECONDS)


def _is_useful(record: logging.LogRecord) -> bool:
    """Filter out uvicorn's message about WebSockets refused with a response (0.54, `websockets_sansio_impl`)."""
    return "without completing handshake" not in str(record.msg)


def _bound(listening: socket.socket, send_seconds: float) -> None:
    """Limit unsent data, and how long the system keeps it, for clients that do not read; on Linux, connections inherit it."""
    for name, value in (("TCP_NOTSENT_LOWAT", _UNSENT_BYTES), ("TCP_USER_TIMEOUT", int(send_seconds * 1000))):
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):
                listening.setsockopt(socket.IPPROTO_TCP, option, value)


def _explained(error: OSError, options: HttpOptions) -> InvalidArgumentError | AccessDeniedError:
    where = f"port {options.port} of {options.host}"
    if error.errno == errno.EADDRINUSE:
        return InvalidArgumentError(
            f"{where[0].upper()}{where[1:]} is already in use by another program",
            suggested_action="Choose another port, or 0 for any that is free.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return AccessDeniedError(where, "the system does not permit this port")
    return InvalidArgumentError(f"Cannot listen at {where}: {error.strerror or error}")
