"""Request metrics in Prometheus's text format, and OpenTelemetry spans if the package is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeAlias

from starlette.types import Scope

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

METHODS: Final = frozenset(("GET", "HEAD", "PUT", "PATCH", "DELETE", "POST", "OPTIONS"))
"""Methods counted by name; clients can invent any number of others, which are counted together."""

Tracing: TypeAlias = Callable[[Scope], AbstractContextManager[Callable[[int], None]]]
"""Returns a context manager that opens a span for a request; it yields a function that takes the status of the response."""


class Metrics:
    """Counts the requests of one server. Use only on the server's event loop."""

    def __init__(self) -> None:
        self.open_requests = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = 0.0

    def note(self, method: str, status: int, seconds: float) -> None:
        """Count one finished request."""
        self._requests[method if method in METHODS else "other", status] += 1
        self._seconds += seconds

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all counters and gauges in Prometheus's text format.

        Args:
            gauges: Help text and current value by name.
        """
        name = "filetools_http_request_seconds"
        lines = [
            *_head("filetools_http_requests_total", "counter", "Finished requests."),
            *(
                f'filetools_http_requests_total{{method="{method}",status="{status}"}} {count}'
                for (method, status), count in sorted(self._requests.items())
            ),
            *_head(name, "summary", "Time from the headers of a request to the end of its response."),
            f"{name}_sum {self._seconds:.6f}",
            f"{name}_count {self._requests.total()}",
        ]
        for gauge, (meaning, value) in gauges.items():
            lines += [*_head(gauge, "gauge", meaning), f"{gauge} {value:g}"]
        return "\n".join([*lines, ""])


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def tracing() -> Tracing:
    """Return a function that opens spans; without the package `opentelemetry` it does nothing."""
    try:
        from opentelemetry import trace
        from opentelemetry.propagate import extract
    except ImportError:
        return lambda _: nullcontext(lambda _: None)
    tracer = trace.get_tracer("filetools")

    @contextmanager
    def span(scope: Scope) -> Iterator[Callable[[int], None]]:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with tracer.start_as_current_span(
            str(scope["method"]), context=extract(headers), kind=trace.SpanKind.SERVER
        ) as current:
            # Names from the semantic conventions; contents and headers are never recorded.
            current.set_attribute("http.request.method", scope["method"])
            current.set_attribute("url.path", scope["path"])
            yield lambda status: current.set_attribute("http.response.status_code", status)

    return span
