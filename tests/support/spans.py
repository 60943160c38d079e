"""A program that takes the one span of one request, and prints it as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace

from filetools.servers.http.telemetry import tracing


class KeptSpan(trace.NonRecordingSpan):
    """A span that keeps its attributes."""

    def __init__(self, context: trace.SpanContext) -> None:
        super().__init__(context)
        self.attributes: dict[str, Any] = {}

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


class KeepingTracer(trace.NoOpTracer):
    """Makes spans that keep their attributes, and prints each at its end."""

    @contextmanager
    def start_as_current_span(self, name: str, context: Any = None, **_options: Any) -> Iterator[KeptSpan]:  # type: ignore[override]  # as far as we use it
        parent = trace.get_current_span(context).get_span_context()
        span = KeptSpan(parent)
        yield span
        print(json.dumps({"name": name, "parent": f"{parent.trace_id:032x}", "attributes": span.attributes}))  # noqa: T201 - what the test reads


class KeepingProvider(trace.NoOpTracerProvider):
    """Gives such tracers."""

    def get_tracer(self, *_arguments: Any, **_options: Any) -> KeepingTracer:
        return KeepingTracer()


if __name__ == "__main__":
    trace.set_tracer_provider(KeepingProvider())
    header = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    with tracing()({"method": "GET", "path": "/x", "headers": [header]}) as tell:
        tell(204)
