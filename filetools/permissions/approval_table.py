"""Approval requests, their answers, and the processes that can answer: rows of the journal that every process sees.

Nothing here is synced: a power cut ends every call that waits, and a lost answer is given again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from filetools.journal.table import Table, TableRow
from filetools.permissions.requests import ApprovalAnswer, ApprovalDecision

T = TypeVar("T")

LEASE_SECONDS: Final = 6.0
"""How long a process counts as alive after it last renewed its lease."""
MOST_REQUESTS: Final = 256
"""Maximum number of open requests; more are refused, so that an agent cannot flood a person."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of all requests together, so that an agent cannot fill the disk."""
_REQUEST: Final = "request "
_USED: Final = "used "
_PROCESS: Final = "process "
_SHOWN: Final = "shown "
"""Prefixes of keys. What a person is shown is large, and has its own row; requests whose answer was used are not
scanned, so that a call costs the same however many there were before it."""
_OPENED: Final = "opened"
"""Key of the row that is put with every new request and never removed, so that identical calls open only one."""


class ApprovalRow(Struct, frozen=True, kw_only=True):
    """A request as every process sees it."""

    id: str
    call: str
    """Equal for identical calls."""
    asked: float
    """When it was opened, in seconds since the epoch."""
    expires: float
    """Seconds since the epoch; without an answer by then it is denied."""
    size: int
    """Bytes of what is shown."""
    answer: ApprovalAnswer | None = None
    edited_text: str | None = None
    is_used: bool = False
    """True if a call has used the answer."""
    revision: int = 0
    """Revision of its row in the table."""


class ApprovalTable:
    """The approvals of a root, for one process. Any thread may call.

    Args:
        table: Holds the rows, and wakes those who wait for one. `used` is the time until which a row counts.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._process = _PROCESS + secrets.token_hex(8)

    def ask(
        self, new_id: str, call: str, shown: Mapping[str, Any], *, now: float, expires: float
    ) -> tuple[ApprovalRow, bool] | None:
        """Return the request of an identical call, or open a new one, and whether another process listens.

        Args:
            new_id: Name of the request if a new one is needed.
            call: Equal for identical calls.
            shown: The question, as JSON.
            now: Seconds since the epoch.
            expires: Until when a new request is open.

        Returns:
            None if too many requests are open.
        """
        size = len(json.dumps(shown))

        def work() -> tuple[tuple[ApprovalRow, bool] | None, list[TableRow]]:
            opened = self._new(_OPENED, {}, 0, 0.0)  # before the look: the put fails if others open one after it
            live, others_listen = self.live(now=now)
            row = next((row for row in live if row.call == call), None)
            if row is not None:
                return (row, others_listen), []
            if len(live) >= MOST_REQUESTS or sum(row.size for row in live) + size > MOST_BYTES:
                return None, []
            row = ApprovalRow(id=new_id, call=call, asked=now, expires=expires, size=size)
            return (row, others_listen), [opened, _put(row), self._new(_SHOWN + new_id, shown, size, expires)]

        return self._changed(work)

    def answer(self, approval_id: str, given: ApprovalDecision, *, now: float, expires: float) -> ApprovalRow | None:
        """Answer a request that has no answer; None if it is not open (any more).

        Args:
            approval_id: Its name.
            given: The person's decision.
            now: Seconds since the epoch.
            expires: Until when the answer waits for a call that uses it.
        """

        def work() -> tuple[ApprovalRow | None, list[TableRow]]:
            row = next((row for row in self.live(now=now)[0] if row.id == approval_id), None)
            if row is None or row.answer is not None:
                return None, []
            row = structs.replace(row, answer=given.answer, edited_text=given.edited_text, expires=expires)
            return row, [_put(row)]

        return self._changed(work)

    def take(self, approval_id: str) -> bool:
        """Use an answer, which one call can do once, and forget what was shown; False if there is none to use."""

        def work() -> tuple[bool, list[TableRow]]:
            found = self._table.get(_REQUEST + approval_id)
            if found is None or (row := _approval(found)).answer is None:
                return False, []
            used = structs.replace(row, is_used=True, edited_text=None, revision=0)
            gone = [_put(row), *self._table.scan(_SHOWN + row.id)]
            return True, [_put(used), *(structs.replace(each, is_gone=True) for each in gone)]

        return self._changed(work)

    def live(self, *, now: float, known: Collection[str] = ()) -> tuple[list[ApprovalRow], bool]:
        """Return the requests that are open or were answered, oldest first, and whether another process listens.

        Args:
            now: Seconds since the epoch.
            known: Requests that are also returned if their answers were used, after the others.
        """
        rows = sorted(map(_approval, self._table.scan(_REQUEST)), key=lambda row: row.asked)
        used = [self._table.get(_USED + each) for each in set(known).difference(row.id for row in rows)]
        rows += [_approval(row) for row in used if row is not None]
        return [row for row in rows if row.expires > now], self._is_said("listens", now)

    def shown(self, approval_id: str) -> Mapping[str, Any] | None:
        """Return the question of a request; None if it has ended."""
        found = self._table.get(_SHOWN + approval_id)
        return None if found is None else found.value

    def has_any(self) -> bool:
        """True if there is any request; cheap if there is none."""
        return bool(self._table.scan(_REQUEST))

    def must_ask(self, *, now: float) -> bool:
        """True if another process requires the agents of all processes to ask; cheap."""
        return self._is_said("asks_for_all", now)

    def attend(self, *, now: float, listens: bool, asks_for_all: bool = False) -> None:
        """Renew the lease of this process, with the flags whether it can answer and whether all agents must ask.

        Expired rows are removed.
        """
        self._table.release(0, unused_since=now)
        said = {"listens": listens, "asks_for_all": asks_for_all}
        known = self._table.get(self._process)
        is_news = (known.value if known else dict.fromkeys(said, False)) != said
        if is_news or listens or asks_for_all:
            self._changed(lambda: (None, [self._new(self._process, said, 1, now + LEASE_SECONDS)]), is_news=is_news)

    def _changed(self, work: Callable[[], tuple[T, list[TableRow]]], *, is_news: bool = True) -> T:
        """Put the rows that `work` returns, which runs again if others have put one of them meanwhile."""
        while True:
            result, rows = work()
            if not rows or self._table.put(rows, durable=False, is_news=is_news):
                return result

    def _is_said(self, flag: str, now: float) -> bool:
        """True if another process that is alive has set a flag of its lease."""
        others = (row for row in self._table.scan(_PROCESS) if row.key != self._process and row.used > now)
        return any(row.value[flag] for row in others)

    def _new(self, key: str, value: Mapping[str, Any], size: int, used: float) -> TableRow:
        """Return a row that replaces the current one."""
        known = self._table.get(key)
        return TableRow(key=key, value=value, size=size, used=used, revision=known.revision if known else 0)


def _approval(row: TableRow) -> ApprovalRow:
    return ApprovalRow(**{**row.value, "revision": row.revision})


def _put(row: ApprovalRow) -> TableRow:
    return TableRow(
        key=(_USED if row.is_used else _REQUEST) + row.id, value=structs.asdict(row), size=row.size, used=row.expires,
        revision=row.revision,
    )  # fmt: skip
