"""The log of tool calls: what was called, how it ended, who approved it. Bounded, exportable as JSON."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

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
    duration_ms: int | None = None
    """None while it runs."""
    approval: str | None = None
    """A person's answer: "allow", "allow_for_run", "denied"; "required" without one; None if nobody was asked."""
    error_code: str | None = None
    attempts: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class CallLog:
    """The last calls, oldest first; lives as long as its registry.

    Args:
        limit: Calls that are kept.
    """

    def __init__(self, limit: int = MAX_RECORDS) -> None:
        self._limit = limit
        self._next = 0
        self._records: OrderedDict[int, CallRecord] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[CallRecord]:
        return iter(list(self._records.values()))

    def begin(self, record: CallRecord) -> int:
        """Keep a call that begins, and return the number under which `finish` knows it."""
        self._next += 1
        self._records[self._next] = record
        if len(self._records) > self._limit:
            self._records.popitem(last=False)
        return self._next

    def finish(self, number: int, **changes: Any) -> None:
        """Complete a call's record; does nothing if it was dropped meanwhile."""
        if record := self._records.get(number):
            self._records[number] = replace(record, **changes)

    def to_json(self) -> str:
        """Return the log as a JSON array, oldest call first."""
        return json.dumps([record.to_dict() for record in self], ensure_ascii=False)
