"""The log of tool calls: what was called, how it ended, who approved it. Bounded, exportable as JSON.

Whoever has the log can stop the calls that run.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from filetools.errors import AccessDeniedError
from filetools.models.records import Actor
from filetools.tools.abort import AbortSignal

MAX_RECORDS: Final = 1000

CallStatus = Literal["running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of a tool."""

    id: str
    """The caller's id of the call, or one made for it."""
    tool: str
    arguments: Mapping[str, Any]
    """Shortened, without file contents and secrets."""
    status: CallStatus = "running"
    started: float
    """Seconds since the epoch."""
    actor: Actor | None = None
    """Who called."""
    duration_ms: int | None = None
    """None while it runs."""
    approval: str | None = None
    """A person's answer: "allow", "allow_for_run", "denied"; "required" without one; None if nobody was asked."""
    error_code: str | None = None
    attempts: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        plain = {name: value for name, value in asdict(self).items() if value is not None}
        if self.actor is not None:
            plain["actor"] = {name: value for name, value in plain["actor"].items() if value is not None}
        return plain


class CallLog:
    """The last calls, oldest first; lives as long as its registry.

    Args:
        limit: Calls that are kept.
    """

    def __init__(self, limit: int = MAX_RECORDS) -> None:
        self._limit = limit
        self._next = 0
        self._records: OrderedDict[int, CallRecord] = OrderedDict()
        self._running: dict[int, tuple[CallRecord, AbortSignal | None]] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[CallRecord]:
        return iter(list(self._records.values()))

    def begin(self, record: CallRecord, abort: AbortSignal | None = None) -> int:
        """Keep a call that begins, and return the number under which `finish` knows it.

        Args:
            record: The call.
            abort: What stops it.
        """
        self._next += 1
        self._records[self._next] = record
        self._running[self._next] = record, abort
        if len(self._records) > self._limit:
            self._records.popitem(last=False)
        return self._next

    def finish(self, number: int, **changes: Any) -> None:
        """Complete a call's record; does nothing if it was dropped meanwhile."""
        self._running.pop(number, None)
        if record := self._records.get(number):
            self._records[number] = replace(record, **changes)

    def running(self) -> list[CallRecord]:
        """Return the calls that have not ended yet, oldest first, however many were made since."""
        return [record for record, _ in self._running.values()]

    def abort(self, call_id: str, by: Actor) -> int:
        """Stop the calls of an id that run, and return how many there are; they end soon, and nothing is half done.

        Args:
            call_id: Id of the calls.
            by: Who wants it: a person may stop any call, an agent those of its own session.

        Raises:
            AccessDeniedError: They are somebody else's.
        """
        found = [(record, signal) for record, signal in self._running.values() if record.id == call_id]
        allowed = [signal for record, signal in found if by.kind == "editor" or _is_same(record.actor, by)]
        if found and not allowed:
            raise AccessDeniedError(call_id, "the call is another actor's")
        for signal in allowed:
            if signal is not None:
                signal.abort()
        return len(allowed)

    def abort_all(self) -> None:
        """Stop every call, because there will be nobody left to tell."""
        for _, signal in list(self._running.values()):
            if signal is not None:
                signal.abort()

    def to_json(self) -> str:
        """Return the log as a JSON array, oldest call first."""
        return json.dumps([record.to_dict() for record in self], ensure_ascii=False)


def _is_same(one: Actor | None, other: Actor) -> bool:
    return one is not None and (one.kind, one.id, one.session) == (other.kind, other.id, other.session)
