"""Listening at an address, and serving one workspace there until the process is told to stop."""

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
"""What answers under way are given when the server stops; then they are cancelled."""
_CANCEL_SECONDS: Final = 0.5
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_HANG_UP: Final[signal.Signals | None] = getattr(signal, "SIGHUP", None)
"""Sent when the terminal is closed that the server was started from; Windows has none."""
_UNSENT_BYTES: Final = 128 * 1024
_BACKLOG: Final = 512


class Listener(Struct, frozen=True):
    """A socket that listens already."""

    socket: socket.socket
    options: HttpOptions
    """With the port that the socket really has."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """What clients call: those on this machine the first, those on others the last; one, if both can call that."""
        hosts = reachable_hosts(self.socket, self.options.host)
        return tuple(f"http://{shown_host(host)}:{self.options.port}" for host in hosts)

    def guarded_by(self, token: str) -> Listener:
        """Return the same for callers that know a token."""
        return structs.replace(self, options=structs.replace(self.options, token=token))


def listen(options: HttpOptions) -> Listener:
    """Listen at the address of the options; port 0 stands for any that is free.

    Raises:
        InvalidArgumentError: The port is taken, or this machine has no such address; names both.
        AccessDeniedError: The system keeps the port to itself.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError as exc:
        raise _explained(exc, options) from exc
    # asyncio sends small parts at once only where the socket says that it is TCP; else an answer waits 40 ms for its second.
    listening = socket.socket(listening.family, listening.type, socket.IPPROTO_TCP, listening.detach())
    _bound(listening, options.limits.send_seconds)
    return Listener(listening, structs.replace(options, port=listening.getsockname()[1]))


async def serve(files: FileToolsFacade, listener: Listener, ready: Callable[[ServerApplication], None]) -> None:
    """Serve a workspace until SIGTERM, SIGINT or SIGHUP; ends within two seconds, whatever is open then but its agents.

    Args:
        files: The opened workspace.
        listener: Where.
        ready: Called once clients are answered.

    Raises:
        InvalidArgumentError: The options name a tool or a group that there is none of.
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
            # Beyond it uvicorn breaks off in the middle; what is less, and still too much, is told why it is the end.
            ws_max_size=4 * limits.body_bytes,
            ws_per_message_deflate=False,  # costs memory for each connection, and frames are small
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            # The guard refuses what is over the limit with a problem; what never ends is refused here.
            h11_max_incomplete_event_size=4 * limits.header_bytes,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_told)
        server = _Server(config, application.shared.closing, partial(ready, application))
        with server.stopping_by_signals():
            await server.serve(sockets=[listener.socket])


class _Server(uvicorn.Server):
    """Uvicorn's server, which tells what goes on for long that it stops, and ends nothing but itself."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: uvicorn would raise them again at its end, before the workspace is closed."""
        yield

    @contextlib.contextmanager
    def stopping_by_signals(self) -> Iterator[None]:
        """Stop at SIGTERM, SIGINT and SIGHUP as long as the block runs."""
        loop = asyncio.get_running_loop()
        former = {each: signal.getsignal(each) for each in _SIGNALS}
        if _HANG_UP is not None and signal.getsignal(_HANG_UP) is not signal.SIG_IGN:  # as nohup leaves it
            former[_HANG_UP] = signal.getsignal(_HANG_UP)
        try:
            for each in former:
                try:
                    loop.add_signal_handler(each, self.stop)
                except NotImplementedError:  # Windows; the server's own ticks let the handler run
                    signal.signal(each, lambda *_: loop.call_soon_threadsafe(self.stop))
            yield
        finally:
            for each, before in former.items():
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(each)
                signal.signal(each, before)

    def stop(self) -> None:
        """Take no new requests and end."""
        self._closing.set()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer from now on, and tell it."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the answers under way, and wait until those that were cancelled have ended, too."""
        # That some were is told as an error, and is none: followers stay until the end.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(list(self.server_state.tasks), timeout=_CANCEL_SECONDS)


def _is_told(record: logging.LogRecord) -> bool:
    """False for what uvicorn says of each socket that is refused with an answer (0.54, `websockets_sansio_impl`)."""
    return "without completing handshake" not in str(record.msg)


def _bound(listening: socket.socket, send_seconds: float) -> None:
    """Bound what the system keeps for clients that read nothing, and for how long; connections inherit it, on Linux."""
    for name, value in (("TCP_NOTSENT_LOWAT", _UNSENT_BYTES), ("TCP_USER_TIMEOUT", int(send_seconds * 1000))):
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):
                listening.setsockopt(socket.IPPROTO_TCP, option, value)


def _explained(error: OSError, options: HttpOptions) -> InvalidArgumentError | AccessDeniedError:
    where = f"port {options.port} of {options.host}"
    if error.errno == errno.EADDRINUSE:
        return InvalidArgumentError(
            f"{where[0].upper()}{where[1:]} is in use by another program",
            suggested_action="Choose another port, or 0 for any that is free.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return AccessDeniedError(where, "the system keeps this port to itself")
    return InvalidArgumentError(f"Cannot listen at {where}: {error.strerror or error}")
