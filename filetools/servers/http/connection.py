"""One connection of a client: uvicorn's, with time limits for headers and for reading, and refusals as problems."""

from __future__ import annotations

import asyncio
import http
import sys
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from filetools.servers.http.options import Limits
from filetools.servers.http.problems import MEDIA_TYPE, Problem

_HEADERS_TOO_LARGE = 431


class Connection(H11Protocol):
    """A connection that ends if its client stops in the middle of a request's headers, or reads nothing of an answer.

    Lives until the connection ends, or becomes a WebSocket.
    """

    limits: Limits

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.limits = limits
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None
        self._has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for the first request, but not for ever."""
        super().connection_made(transport)
        # Who says nothing at all is answered nothing.
        self._headers_due = self.loop.call_later(self.limits.header_seconds, transport.close)
        self._has_begun = False

    def data_received(self, data: bytes) -> None:
        """Take in what came; the time for headers runs from their first byte."""
        scope_before = self.scope
        if not self._has_begun and not self._is_answering():
            self._end_waiting_for_headers()
            self._has_begun = True
            self._headers_due = self.loop.call_later(self.limits.header_seconds, self._too_slow)
        super().data_received(data)
        if self.scope is not scope_before:  # a request is whole
            self._end_waiting_for_headers()
            self._has_begun = False

    def pause_writing(self) -> None:
        """Wait for a client that reads slower than it is answered, but not for ever."""
        super().pause_writing()
        # Closing would wait until the client has read what lies ready for it.
        self._reading_due = self.loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        self._end_waiting_for_reading()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._end_waiting_for_headers()
        self._end_waiting_for_reading()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; called while the parser's error is handled."""
        hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
        if hint == _HEADERS_TOO_LARGE:
            self._refuse(Problem(hint, "HEADERS_TOO_LARGE", f"More than {self.limits.header_bytes} bytes of headers"))
        else:
            self._refuse(Problem(400, "MALFORMED_REQUEST", "This is not HTTP/1.1"))

    def _end_waiting_for_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _end_waiting_for_reading(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None

    def _too_slow(self) -> None:
        self._refuse(Problem(408, "TOO_SLOW", "The headers came too slowly"))

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn has it None until the first request
        return cycle is not None and not cycle.response_complete

    def _refuse(self, problem: Problem) -> None:
        has_begun = self._is_answering() and self.cycle.response_started
        if not has_begun and not self.transport.is_closing():
            self.transport.write(_as_bytes(problem))
        self.transport.close()


def connections(limits: Limits) -> Any:
    """Return what uvicorn makes connections with."""
    return partial(Connection, limits=limits)


def _as_bytes(problem: Problem) -> bytes:
    body = problem.body()
    phrase = http.HTTPStatus(problem.status).phrase
    head = f"HTTP/1.1 {problem.status} {phrase}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode("ascii") + body
