"""Approval requests: what a person is asked, the possible answers, and the rows of the journal that every process sees.

Nothing here is synced: a power cut ends every call that waits, and a lost answer is given again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.content.differences.diff import shortened
from filetools.content.differences.merging import merge
from filetools.errors import InvalidArgumentError
from filetools.journal.table import Table, TableRow
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

ApprovalAnswer = Literal["allow", "allow_for_run", "deny", "merge"]
Risk = Literal["low", "medium", "high"]
AskReason = Literal["prompt", "protected", "conflict"]

ANSWERS: Final[tuple[ApprovalAnswer, ...]] = ("allow", "allow_for_run", "deny", "merge")


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """What a person decided about a request."""

    answer: ApprovalAnswer
    edited_text: str | None = None
    """For "merge": the whole text to write instead."""


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return a digest that two calls share if, and only if, their JSON arguments are equal."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class ShownChange(Struct, frozen=True, kw_only=True):
    """What a call would do, as shown to the person who decides."""

    description: str
    """One sentence, such as "Replace src/app.py"."""
    version: str | None = None
    """Version of the path before the change; None if nothing is there."""
    old_text: str | None = None
    """Current text; for conflicts the unsaved text."""
    new_text: str | None = None
    """New text; for conflicts what the call wants to write."""
    base_text: str | None = None
    """For conflicts: the text that both sides started from."""
    by_words: bool | None = None
    """For conflicts: True if the file is prose, whose lines may be merged by words."""
    diff: str | None = None
    """Unified diff from the old to the new text."""
    can_merge: bool = False
    """True if the call writes one text file, so that a person can replace its text by "merge"."""


class Proposal(ShownChange, frozen=True, kw_only=True):
    """A call before a person is asked about it."""

    digest: str
    """`digest_of` everything the call would do; an approval holds for this digest only."""
    unsaved_version: str | None = None
    """Version of the unsaved text that was shown in place of the file's."""
    replacing_unsaved: str | None = None
    """The text that would replace unsaved text, if the call would drop that."""
    is_destructive: bool = False
    """True if it deletes or covers something on the way."""
    is_cut: bool = False
    """True if the diff leaves something out."""


class ApprovalRequest(ShownChange, frozen=True, kw_only=True):
    """One question to a person. Open until it is answered or expires."""

    id: str
    """Unguessable name of the request."""
    tool: str
    path: WorkspacePath
    """The path that made the question necessary."""
    paths: tuple[WorkspacePath, ...]
    """All paths of the call."""
    risk: Risk
    reason: AskReason
    """"protected" if the path is protected, "conflict" if the call conflicts with unsaved text, otherwise "prompt"."""
    actor: Actor
    created: float
    """Seconds since the epoch."""
    expires: float
    """Seconds since the epoch; without an answer by then it is denied."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        plain = {name: value for name, value in structs.asdict(self).items() if value is not None}
        return plain | {"paths": list(self.paths), "actor": self.actor.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ApprovalRequest:
        """Return the request from the form that `to_dict` returns."""
        paths = {"path": WorkspacePath(plain["path"]), "paths": tuple(map(WorkspacePath, plain["paths"]))}
        return cls(**{**plain, **paths, "actor": Actor(**plain["actor"])})


MOST_SHOWN_CHARACTERS: Final = 4000
"""Characters of the change in a question that cannot be scrolled."""


def short_diff(request: ApprovalRequest) -> str:
    """Return the change, shortened for small displays, with a note of what is left out and how to show it."""
    diff = request.diff or ""
    shown = shortened(diff, MOST_SHOWN_CHARACTERS)
    return shown if shown == diff else f"{shown}'filetools approvals --diff' shows them.\n"


def decided(answer: object, request: ApprovalRequest, edited_text: str | None = None) -> ApprovalDecision:
    """Validate a decision that came from outside.

    Args:
        answer: One of the answers, "cancel" for the "deny" of a conflict, or a whole decision.
        request: The request it answers.
        edited_text: Text to write instead; with "merge" only. A conflict's "merge" without it keeps both sides: where they
            overlap, the unsaved text and after it what the call wants to write.

    Raises:
        InvalidArgumentError: It is not an answer to this request.
    """
    if isinstance(answer, ApprovalDecision):
        return decided(answer.answer, request, answer.edited_text)
    if answer == "cancel" and request.reason == "conflict":
        answer = "deny"
    known = next((one for one in ANSWERS if one == answer), None)
    if known is None:
        raise InvalidArgumentError(f"An approval is answered with allow, allow_for_run, deny or merge, not {answer!r}")
    if known == "allow_for_run" and request.reason == "conflict":
        raise InvalidArgumentError("A conflict is answered with allow, cancel or merge: each is a decision of its own")
    if known == "merge" and not request.can_merge:
        raise InvalidArgumentError("Only a call that writes the text of one file can be given another text")
    if known == "merge" and edited_text is None and request.reason == "conflict":
        edited_text = _both_texts(request)
    if (known == "merge") != isinstance(edited_text, str):
        raise InvalidArgumentError("The answer merge, and no other, comes with edited_text")
    return ApprovalDecision(answer=known, edited_text=edited_text)


def _both_texts(request: ApprovalRequest) -> str:
    if request.base_text is None or request.old_text is None or request.new_text is None:
        raise InvalidArgumentError("The common base of both texts is not known; give the text to write as edited_text")
    texts = request.base_text, request.old_text, request.new_text
    text = merge(*texts, keep="both", by_words=bool(request.by_words)).text
    if text is None:
        raise InvalidArgumentError("The texts are too large to merge; give the text to write as edited_text")
    return text


LEASE_SECONDS: Final = 6.0
"""How long a process counts as alive after it last renewed its lease."""
MOST_REQUESTS: Final = 256
"""Maximum number of open requests; more are refused, so that an agent cannot flood a person."""
MOST_OF_SESSION: Final = 64
"""Maximum of one session, so that one that has ended leaves room for others until its requests expire."""
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
    session: str
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
        self, new_id: str, call: str, session: str, shown: Mapping[str, Any], *, now: float, expires: float
    ) -> tuple[ApprovalRow, bool] | None:
        """Return the request of an identical call, or open a new one, and whether another process listens.

        Args:
            new_id: Name of the request if a new one is needed.
            call: Equal for identical calls.
            session: The session of its actor; the id of an actor without one.
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
            of_session = sum(row.session == session for row in live)
            is_full = len(live) >= MOST_REQUESTS or of_session >= MOST_OF_SESSION
            if is_full or sum(row.size for row in live) + size > MOST_BYTES:
                return None, []
            row = ApprovalRow(id=new_id, call=call, session=session, asked=now, expires=expires, size=size)
            return (row, others_listen), [opened, _put(row), self._new(_SHOWN + new_id, shown, size, expires)]

        return self._table.change(work, durable=False)

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

        return self._table.change(work, durable=False)

    def take(self, approval_id: str) -> bool:
        """Use an answer, which one call can do once, and forget what was shown; False if there is none to use."""

        def work() -> tuple[bool, list[TableRow]]:
            found = self._table.get(_REQUEST + approval_id)
            if found is None or (row := _approval(found)).answer is None:
                return False, []
            used = structs.replace(row, is_used=True, edited_text=None, revision=0)
            gone = [_put(row), *self._table.scan(_SHOWN + row.id)]
            return True, [_put(used), *(structs.replace(each, is_gone=True) for each in gone)]

        return self._table.change(work, durable=False)

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
            self._table.change(
                lambda: (None, [self._new(self._process, said, 1, now + LEASE_SECONDS)]), durable=False, is_news=is_news
            )

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
