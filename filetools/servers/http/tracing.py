"""Spans of OpenTelemetry, one a request, where its interface is installed; without it nothing happens here."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from filetools.servers.http.asgi import Scope

Told: TypeAlias = Callable[[int], None]
"""Gets the status of the answer."""
Tracing: TypeAlias = Callable[[Scope], AbstractContextManager[Told]]
"""Makes a span for the time of a block."""


def tracing() -> Tracing:
    """Return what makes spans; without the package `opentelemetry` it makes none."""
    # A package of the same name space may be there without this one.
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.trace") is None:
        return _no_span
    return _spans()


@contextmanager
def _no_span(scope: Scope) -> Iterator[Told]:
    yield lambda status: None


def _spans() -> Tracing:
    from opentelemetry import trace
    from opentelemetry.propagate import extract

    tracer = trace.get_tracer("filetools")

    @contextmanager
    def span(scope: Scope) -> Iterator[Told]:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with tracer.start_as_current_span(
            str(scope["method"]), context=extract(headers), kind=trace.SpanKind.SERVER
        ) as current:
            # Names of conventions; neither contents nor headers are told.
            current.set_attribute("http.request.method", scope["method"])
            current.set_attribute("url.path", scope["path"])
            yield lambda status: current.set_attribute("http.response.status_code", status)

    return span
